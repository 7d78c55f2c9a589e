<?php
/* A program of PHP whose stacks are known: each part burns a tenth of a second, but where it says so. */
namespace {

const PART = 0.1;

function spent()
{
    $usage = getrusage();
    return $usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'] +
        ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1e6;
}

function burn($seconds) // burn begins
{
    $end = spent() + $seconds;
    $total = 0;
    while (spent() < $end) {
        for ($i = 0; $i < 2000; $i++) {
            $total += $i * $i % 7;
        }
    }
    return $total; // burn ends
}

function three()
{
    return burn(3 * PART); // three burns
}

function one()
{
    return burn(PART); // one burns
}

function deeper($depth)
{
    if ($depth) {
        return deeper($depth - 1); // goes deeper
    }
    return burn(PART); // at the bottom
}

function counts()
{
    for ($i = 0; $i < 10; $i++) {
        burn(PART / 10); // counts
        yield $i;
    }
}

function hoards(array &$kept)
{
    for ($i = 0; $i < 20; $i++) {
        $kept[] = str_repeat('x', 3000000); // hoards
    }
}

}

namespace Shop {

class Counter
{
    public function sell()
    {
        return \burn(\PART); // sells
    }

    public static function price($a, $b)
    {
        \burn(\PART / 10); // asks the price
        return $a - $b;
    }

    public function __destruct()
    {
        \burn(\PART); // clears up
    }
}

$naps = (int)($argv[1] ?? 0);
$kept = [];
\burn(4 * \PART); // (by then it is profiled)
\deeper(60);
$counter = new Counter();
$counter->sell();
$counter = null; // lets go
$goods = range(0, 9);
usort($goods, ['Shop\\Counter', 'price']); // sorts
foreach (\counts() as $i) { // adds up
    $kept[] = $i;
}
$closure = function () {
    \burn(\PART); // in a closure
};
array_map(function ($f) {
    $f(); // calls it
}, [$closure]);
for ($i = 0; $i < 20; $i++) {
    eval("namespace made_$i; function burns() { \\burn(\\PART / 20); }"); // makes
    $name = "made_$i\\burns";
    $name(); // calls the new function
}
include __DIR__ . '/shape_part.php'; // includes
if (class_exists('Fiber')) {
    $fiber = new \Fiber(function () {
        \burn(\PART); // in a fiber
        \Fiber::suspend();
    });
    $fiber->start(); // starts a fiber
}
\three();
\one();
\hoards($kept);
usleep($naps); // naps
echo 'ok ', count($kept), "\n";

}
