#!/bin/sh
# A recording of the JDK's own recorder: its settings contain the time that a sample represents, so time can be
# weighed. Needs Java 11 or later.
. "$(dirname "$0")/agent.inc"
have java
cat >"$work/Work.java" <<'END'
public class Work {
	public static void main(String[] words) {
		double sum = 0;
		for (long end = System.nanoTime() + 1500000000L; System.nanoTime() < end;)
			for (int i = 0; i < 100000; i++)
				sum += Math.sin(i);
		System.out.println(sum);
	}
}
END
java "-XX:StartFlightRecording:filename=$work/work.jfr,settings=profile" "$work/Work.java" >"$work/said" 2>&1 ||
	skip "this Java does not record: $(head -n 1 "$work/said")"
"$agent" top --cpu --json "$work/work.jfr" >"$work/samples" || fail "top: status $?"
"$agent" top --cpu --total --json "$work/work.jfr" >"$work/total" 2>"$work/err" || fail "top --total: status $?"
samples=$(sed 's/.*"weight":\([0-9]*\).*/\1/' "$work/samples")
total=$(sed 's/.*"weight":\([0-9]*\).*/\1/' "$work/total")
echo "$samples samples, $total ns $(cat "$work/err")"
[ "$samples" -gt 0 ] && [ "$total" = "${samples}0000000" ] || fail 'not 10 ms each, as the settings say'
