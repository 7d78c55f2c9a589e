<?php
/* Runs functions that are created and dropped, until FOLDER/stop exists or so many seconds are
 * over, and lists the existing functions.
 *
 * usage: churns.php FOLDER churns|stands SECONDS
 *
 * FOLDER/names/php has a line for each function, with its name, its file and its lines. Its
 * functions follow a rule: made_L_I is in the lines 2 * I + 1 and 2 * I + 2 of lotL.php. */

[, $folder, $how, $seconds] = $argv;
$begun = time();
$pool = [];
$steps = [];
$run = ['burns', 'allocates'];
$stand = ['naps'];
$lots = 0;

/* ---- Steps: each calls the first of the remaining steps with the rest ---- */

function plain($rest)
{
    $next = array_shift($rest);
    return $next($rest);
}

function recurses($rest, $depth = 8)
{
    if ($depth) {
        return recurses($rest, $depth - 1);
    }
    return plain($rest);
}

function yields($rest)
{
    yield 1;
    yield plain($rest);
    yield 2;
}

function generates($rest)
{
    return array_sum(iterator_to_array(yields($rest), false));
}

function fails($rest)
{
    try {
        try {
            throw new RuntimeException('on the way');
        } catch (RuntimeException $e) {
            plain($rest);
            throw new LogicException('again');
        }
    } catch (LogicException $e) {
        return 1;
    } finally {
        strlen('x');
    }
}

function sorts($rest)
{
    $numbers = [3, 1, 2];
    usort($numbers, function ($a, $b) use (&$rest) {
        if ($rest) {
            [$left, $rest] = [$rest, null];
            plain($left);
        }
        return $a <=> $b;
    });
    return 1;
}

function maps($rest)
{
    return count(array_map(fn ($x) => plain($rest), [1]));
}

function replaces($rest)
{
    return strlen(preg_replace_callback('/b/', function ($match) use ($rest) {
        return plain($rest);
    }, 'abc'));
}

function evals($rest)
{
    return eval('$x = 1;
return plain($rest) + $x;');
}

function calls($rest)
{
    return call_user_func_array('plain', [$rest]);
}

function starts_fiber($rest)
{
    if (!class_exists('Fiber')) {
        return plain($rest);
    }
    $fiber = new Fiber(function () use ($rest) {
        Fiber::suspend(1);
        return plain($rest);
    });
    try {
        $fiber->start();
        $fiber->resume();
    } catch (FiberError $e) { // a destructor that the collector runs has none
        return 2;
    }
    return 1;
}

class Shop
{
    protected $rest;

    public function __construct($rest)
    {
        $this->rest = $rest;
    }

    public function sells()
    {
        return plain($this->rest);
    }

    public function __call($name, $arguments)
    {
        return $this->sells();
    }

    public function __get($name)
    {
        return $this->sells();
    }

    public function __toString()
    {
        return (string)$this->sells();
    }

    public static function of($rest)
    {
        return (new static($rest))->sells();
    }
}

class Closes extends Shop
{
    public $itself;

    public function __destruct()
    {
        $this->sells();
    }
}

function calls_what_is_not($rest)
{
    return (new Shop($rest))->isNot();
}

function gets($rest)
{
    return (new Shop($rest))->price;
}

function says($rest)
{
    return strlen((string)new Shop($rest));
}

function ends($rest)
{
    $shop = new Closes($rest);
    $shop->itself = $shop;
    unset($shop);
    gc_collect_cycles();
    return 1;
}

/* ---- Ends of a chain ---- */

function burn($work)
{
    $total = 0;
    for ($i = 0; $i < $work; $i++) {
        $total += $i * $i % 7;
    }
    return $total;
}

function burns($rest)
{
    return burn(mt_rand(0, 3000)) & 1;
}

function allocates($rest)
{
    $kept = [];
    for ($i = 0; $i < 100; $i++) {
        $kept[] = ['text' => str_repeat('x', mt_rand(0, 300)), 'more' => [$i]];
    }
    return count($kept);
}

function naps($rest)
{
    usleep(mt_rand(100, 40000));
    return 1;
}

/* ---- Created and dropped functions ---- */

function keep($function)
{
    global $pool;
    if (count($pool) < 400) {
        $pool[] = $function;
    } else {
        $pool[mt_rand(0, 399)] = $function;
    }
}

function makes_lot()
{
    global $lots, $folder;
    $lot = sprintf('%d%06d', getmypid(), ++$lots);
    $text = '<?php ';
    for ($i = 0; $i < 20; $i++) {
        $text .= "function made_{$lot}_$i(\$rest) { \$next = array_shift(\$rest);\n return \$next(\$rest); }\n";
    }
    file_put_contents("$folder/lot$lot.php", $text);
    include "$folder/lot$lot.php";
    unlink("$folder/lot$lot.php");
    for ($i = 0; $i < 20; $i++) {
        keep("made_{$lot}_$i");
    }
}

/* Functions that are freed with their last reference, and others at the same addresses. */
function makes_closures()
{
    keep(eval('return function ($rest) {
        return plain($rest);
    };'));
    keep(eval('

return new class {
    public function __invoke($rest) {
        return plain($rest);
    }
};'));
}

function chain($ends)
{
    global $steps, $pool;
    $some = [];
    for ($i = mt_rand(0, 5); $i > 0; $i--) {
        $some[] = $steps[array_rand($steps)];
    }
    for ($i = $pool ? mt_rand(0, 11) : 0; $i > 0; $i--) {
        $some[] = $pool[array_rand($pool)];
    }
    shuffle($some);
    $some[] = $ends[array_rand($ends)];
    return plain($some);
}

function over()
{
    global $begun, $seconds, $folder;
    clearstatcache();
    return time() >= $begun + $seconds || file_exists("$folder/stop");
}

function main($how)
{
    global $run, $stand;
    makes_lot();
    for ($turn = 1; !over(); $turn++) {
        chain($how === 'stands' ? $stand : $run);
        makes_closures();
        if ($turn % 200 === 0) {
            makes_lot();
        }
        if ($how === 'churns' && $turn % 5000 === 0) {
            forks();
        }
    }
}

function forks()
{
    $child = pcntl_fork();
    if (!$child) {
        $end = microtime(true) + 1;
        while (microtime(true) < $end) {
            chain($GLOBALS['run']);
        }
        exit(0);
    }
    pcntl_waitpid($child, $status);
}

/* ---- Existing functions ---- */

function tell($file, $name, $function)
{
    $lines = $function->getFileName() ? $function->getStartLine() . '-' . $function->getEndLine() : '';
    fwrite($file, "$name\t" . $function->getFileName() . "\t$lines\n");
}

function tell_names($path)
{
    $file = fopen("$path.new" . getmypid(), 'w');
    foreach (get_defined_functions() as $functions) {
        foreach ($functions as $name) {
            if (strncmp($name, 'made_', 5)) {
                $function = new ReflectionFunction($name);
                tell($file, $function->getName(), $function);
            }
        }
    }
    foreach (get_declared_classes() as $class) {
        if (strpos($class, '@anonymous') === false) {
            foreach ((new ReflectionClass($class))->getMethods() as $method) {
                tell($file, $method->class . '::' . $method->getName(), $method);
            }
        }
    }
    $last = count(file(__FILE__));
    fwrite($file, "{main}\t" . __FILE__ . "\t1-" . ($last + 1) . "\n"); // it returns after the end
    /* Between the call of a missing function and __call(), there is a frame of PHP's own. */
    $call = new ReflectionMethod('Shop', '__call');
    fwrite($file, "Shop::isNot\t" . __FILE__ . "\t" . $call->getStartLine() . '-' . $call->getEndLine() . "\n");
    foreach (token_get_all(file_get_contents(__FILE__)) as $token) {
        if (is_array($token) && in_array($token[0], [T_FUNCTION, T_FN, T_EVAL], true)) {
            $texts[] = [$token[0], $token[2]];
        }
    }
    foreach ($texts as [$kind, $line]) {
        /* (From 8.4 on its name contains its place.) */
        fwrite($file, "{closure}\t" . __FILE__ . "\t$line-" . ($line + 6) . "\n");
        $made = basename(__FILE__) . "($line) : eval()'d code";
        if ($kind === T_EVAL) {
            fwrite($file, "{eval}\t$made\t1-7\n{closure}\t$made\t1-3\nclass@anonymous::__invoke\t$made\t4-6\n");
        }
    }
    fclose($file);
    rename("$path.new" . getmypid(), $path);
}

$steps = ['plain', 'recurses', 'generates', 'fails', 'sorts', 'maps', 'replaces', 'evals', 'calls', 'starts_fiber', 'Shop::of',
    'calls_what_is_not', 'gets', 'says', 'ends'];
if (!file_exists("$folder/names/php")) {
    tell_names("$folder/names/php");
}
main($how);
