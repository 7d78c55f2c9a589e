#!/bin/bash
# JDK Mission Control's parser finds each type of event of the builtin engine under the identifier that its pages
# search. (It gives another one to an event with a field of an unknown structure.)
. "$(dirname "$0")/../system/agent.inc"

have java javac mvn sha256sum
program mem_polls >/dev/null
cat >"$work/pom.xml" <<'END'
<project xmlns="http://maven.apache.org/POM/4.0.0">
	<modelVersion>4.0.0</modelVersion>
	<groupId>test</groupId>
	<artifactId>test</artifactId>
	<version>1</version>
	<dependencies>
		<dependency>
			<groupId>org.openjdk.jmc</groupId>
			<artifactId>flightrecorder</artifactId>
			<version>9.1.0</version>
		</dependency>
	</dependencies>
</project>
END
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/lib" >"$work/maven" 2>&1 ||
	skip "Maven does not get the parser: $(grep -m 1 ERROR "$work/maven")"
(cd "$work/lib" && sha256sum -c --quiet) <<'END' || fail "these are not the files of version 9.1.0"
8cfd2538317f6f893563d58ab215528b3ab12f96ddede9c3c9034949f3a1c75a  common-9.1.0.jar
b09e2cd5c36a7127e091df9be628278b1166b40bc08b9de8196ccddb0cccd67f  encoder-1.2.3.jar
49dbd6f94ca422c0f32f5182e389677ec9280096ec7ad7cdba1865b94e27bc9c  flightrecorder-9.1.0.jar
d74a3334fb35195009b338a951f918203d6bbca3d1d359033dc33edd1cadc9ef  lz4-java-1.8.0.jar
END

cat >"$work/Types.java" <<'END'
import java.io.File;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

public class Types {
	public static void main(String[] recordings) throws Exception {
		for (IItemIterable items : JfrLoaderToolkit.loadEvents(new File(recordings[0])))
			System.out.println(items.getType().getIdentifier() + " " + items.getItemCount());
	}
}
END
javac -cp "$work/lib/*" -d "$work" "$work/Types.java" || fail "the program is not compiled"

profiled "$work/reports" builtin CPU_INTERVAL=1ms WALL_INTERVAL=1ms NATIVE_MEM=4k "$work/mem_polls" compute ||
	fail "status $?"
java -cp "$work/lib/*:$work" Types "$work"/reports/*.jfr >"$work/types" 2>"$work/err" || fail "$(cat "$work/err")"
# has TYPE: it has the same number of these events as the recording.
has() {
	local recorded parsed

	recorded=$("$agent" summary "$work"/reports/*.jfr | awk -v type="$1" '$NF == type { n = $1 } END { print n + 0 }')
	parsed=$(awk -v type="$1" '$1 == type { n += $2 } END { print n + 0 }' "$work/types")
	[ "$recorded" -gt 0 ] && [ "$parsed" -eq "$recorded" ] ||
		fail "$1: $parsed of $recorded events: $(cat "$work/types")"
}
for type in jdk.ExecutionSample profiler.WallClockSample profiler.Malloc profiler.Free profiler.UserEvent; do
	has $type
done
again=$(sed -n 's/^\([a-zA-Z.]*\)[0-9a-f]\{8\}-[0-9a-f-]* .*/\1/p' "$work/types")
[ -z "$again" ] || fail "other identifiers of: $again"
echo ok
