# Runs methods that are created and dropped, in many threads, and lists the existing methods.
#
# usage: churns.rb FOLDER THREADS SECONDS
#
# It restarts by exec(2) after so many seconds, until FOLDER/stop exists. FOLDER/names/ruby has a line for each
# method, with its name, its file and its lines. Its methods follow a rule: made_L_I is in the lines 2 * I + 1 and 2 *
# I + 2 of lotL.rb.
require "rbconfig"

FOLDER, THREADS, SECONDS = ARGV[0], ARGV[1].to_i, ARGV[2].to_f
BEGUN = Process.clock_gettime(Process::CLOCK_MONOTONIC)
COMPACTS = GC.respond_to?(:compact) && (begin; GC.compact; true; rescue NotImplementedError; false; end)
$pool = []
$lots = 0

# ---- Steps: each calls the first of the remaining steps with the rest ----

def plain(rest)
  x = rest[0].call(rest[1..-1])
  x.to_i
end

def recurses(rest, depth = 8)
  return recurses(rest, depth - 1) if depth > 0
  plain(rest)
end

def in_block(rest)
  [1].each { |x| plain(rest) + x }
  1
end

def yields_to
  yield 1
  2
end

def yields(rest)
  yields_to { |x| plain(rest) + x }
end

def enumerates(rest)
  e = Enumerator.new { |y| y << 1; y << plain(rest) }
  e.next
  e.next
end

def in_fiber(rest)
  fiber = Fiber.new do
    Fiber.yield 1
    plain(rest)
  end
  fiber.resume
  fiber.resume
end

def fails(rest)
  begin
    raise "on the way"
  rescue RuntimeError
    plain(rest)
    raise ArgumentError, "again"
  ensure
    rest.size
  end
rescue ArgumentError
  1
end

def sorts(rest)
  left = rest
  [3, 1, 2].sort { |a, b| now, left = left, nil; plain(now) if now; a <=> b }
  1
end

def replaces(rest)
  "abc".gsub(/b/) { |match| plain(rest).to_s }
  1
end

def evals(rest)
  eval("x = 1\nplain(rest) + x", binding, "evals.rb", 1)
end

def hashes(rest)
  Hash.new { |hash, key| plain(rest) }[1]
end

class Shop
  include Comparable
  attr_reader :rest

  def initialize(rest)
    @rest = rest
  end

  def sells
    rest[0].call(rest[1..-1]).to_i
  end

  def <=>(other)
    sells
  end

  def method_missing(name, *arguments)
    return super unless name == :has_not
    sells
  end

  def respond_to_missing?(name, all = false)
    name == :has_not || super
  end

  define_method(:defined) { sells }

  class << self
    def of(rest)
      new(rest).sells
    end
  end

  module Till
    def self.of(rest)
      Shop.new(rest).defined
    end
  end
end

def compares(rest)
  Shop.new(rest) < Shop.new(rest) ? 1 : 2
end

def has_not(rest)
  Shop.new(rest).has_not
end

# ---- Ends of a chain ----

def burn(work)
  total = 0
  i = 0
  while i < work
    total += i * i
    i += 1
  end
  total
end

def burns(rest)
  burn(rand(3000)) & 1
end

def allocates(rest)
  kept = Array.new(100) { |i| { text: "x" * rand(200), more: [i] } }
  kept.size
end

def naps(rest)
  sleep(-Math.log(1 - rand) / 50)
  1
end

# ---- Created and dropped methods ----

def keep(method)
  $pool.size < 400 ? $pool << method : $pool[rand(400)] = method
end

def makes_lot
  lot = format("%d%06d", Process.pid, $lots += 1)
  text = (0...20).map { |i| "def made_#{lot}_#{i}(rest)\n  rest[0].call(rest[1..-1]).to_i end\n" }.join
  text << "def twin(rest)\n  made_#{lot}_0(rest) + 1 end\n"
  made = Class.new
  made.class_eval(text, "lot#{lot}.rb", 1)
  shop = made.new
  20.times { |i| keep(shop.method("made_#{lot}_#{i}")) }
  keep(shop.method(:twin))
end

ODD = "def odd(rest)\n  rest[0].call(rest[1..-1]).to_i\nend\n"
EVEN = "\n\n\ndef even(rest)\n  rest[0].call(rest[1..-1]).to_i\nend\n"

RELOADS = Mutex.new

def reloads
  RELOADS.synchronize { loads_both }
end

def loads_both
  path = "#{FOLDER}/#{Process.pid}/comes_and_goes.rb"
  Dir.mkdir(File.dirname(path)) unless Dir.exist?(File.dirname(path))
  [ODD, EVEN].each do |text|
    File.write(path, text)
    load(path)
    name = text == ODD ? :odd : :even
    keep(Object.new.method(name))
    Object.send(:remove_method, name)
  end
end

STEPS = %i[plain recurses in_block yields enumerates in_fiber fails sorts replaces evals hashes compares has_not].map { |name| method(name) } +
        [Shop.method(:of), Shop::Till.method(:of)]
RUN = %i[burns allocates].map { |name| method(name) }
STAND = %i[naps].map { |name| method(name) }

def chain(ends)
  some = Array.new(rand(6)) { STEPS.sample } + Array.new(rand(12)) { $pool.sample }.compact
  plain(some.shuffle << ends.sample)
end

def over?
  Process.clock_gettime(Process::CLOCK_MONOTONIC) > BEGUN + SECONDS || File.exist?("#{FOLDER}/stop")
end

def stands
  chain(STAND) until over?
end

def churns
  turn = 0
  until over?
    turn += 1
    makes_lot
    20.times { chain(RUN) }
    GC.start if turn % 20 == 0
    GC.compact if COMPACTS && turn % 100 == 0
    reloads if turn % 50 == 0
    forks if turn % 300 == 0
    Array.new(3) { Thread.new { chain(RUN) } }.each(&:join)
  end
end

def forks
  child = fork do
    finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1
    chain(RUN) while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
    exit!(0)
  end
  Process.wait(child)
end

# ---- Existing methods ----

def tell_code(file, code, within, path)
  label = code.label
  whole = code.to_a
  from, _, to = whole[4][:code_location]
  from, to = [from, to, *whole.last.grep(Integer)].minmax # (the one of an ensure begins after the word)
  # (Code that is compiled alone has its own one for a file.)
  ["<main>", "<top (required)>"].each { |top| file.puts("#{top}\t#{path}\t#{from}-#{to}") } if label == "<compiled>"
  label = label.sub(/<compiled>/, "<main>")
  within.each do |name|
    file.puts("#{label.sub(/[^ ]+\z/) { |own| "#{name}#{own}" }}\t#{path}\t#{from}-#{to}")
  end
  code.each_child { |child| tell_code(file, child, within, path) }
end

# Ruby's built-in methods have no source, but their code can be requested.
def tell_own(file, within, method)
  path, = method.source_location
  return unless path && path.start_with?("<internal:")
  code = RubyVM::InstructionSequence.of(method)
  tell_code(file, code, ["", within], path) if code
  path
end

# The code that makes these methods ran at Ruby's start, and is gone: its length is unknown.
def tell_beginning(file, paths, modules)
  parts = modules.map { |m| m.to_s.split("::").last }.uniq
  names = parts.flat_map { |part| ["<class:#{part}>", "<module:#{part}>"] } << "singleton class"
  paths.each { |path| [path, *names].each { |name| file.puts("#{name}\t#{path}\t1-9999") } }
  # C methods that cannot be listed.
  %w[hash_merge_kwd hash_merge_ptr lambda raise set_method_alias set_postexe set_variable_alias sprintf undef_method].each do |name|
    file.puts("core##{name}\t\t", "#{name}\t\t")
  end
end

def tell_names
  return if File.exist?("#{FOLDER}/names/ruby")
  modules = ObjectSpace.each_object(Module).select { |m| m.name rescue nil }
  owners = modules.flat_map { |m| ["#{m}#", "#{m}."] } + [""]
  File.open("#{FOLDER}/names/ruby.new#{Process.pid}", "w") do |file|
    # (Before 3.4, labels have no class: any class but the method's own is accepted.)
    sources = ($LOADED_FEATURES.grep(/\.rb\z/) << __FILE__).map { |path| [path, File.read(path)] rescue nil }.compact
    sources += [["comes_and_goes.rb", ODD], ["comes_and_goes.rb", EVEN], ["evals.rb", "x = 1\nplain(rest) + x"]]
    sources.each do |path, text|
      own = path == __FILE__ || path !~ %r{/} ? ["", "Object#", "Shop#", "Shop.", "Shop::Till."] : owners
      tell_code(file, RubyVM::InstructionSequence.compile(text, path, path), own, path)
    end
    file.puts("evals\tevals.rb\t1-2") # the code of a string counts for the method that evaluates it
    own_paths = %w[<internal:gem_prelude> <internal:prelude> <internal:yjit>]
    modules.each do |m|
      own = (m.instance_methods(false) + m.private_instance_methods(false)).map { |name| ["#{m}#", m.instance_method(name)] }
      own += m.singleton_methods(false).map { |name| ["#{m}.", m.method(name)] }
      own_paths.concat(own.map { |within, method| tell_own(file, within, method) }.compact)
      (m.instance_methods(false) + m.private_instance_methods(false)).each { |name| file.puts("#{m}##{name}\t\t", "#{name}\t\t") }
      m.singleton_methods(false).each { |name| file.puts("#{m}.#{name}\t\t") }
      m.singleton_class.instance_methods(true).each { |name| file.puts("#{m}.#{name}\t\t") }
    end
    tell_beginning(file, own_paths.uniq, modules)
  end
  File.rename("#{FOLDER}/names/ruby.new#{Process.pid}", "#{FOLDER}/names/ruby")
end

tell_names
makes_lot
all = Array.new(THREADS - 2) { Thread.new { stands } }
all << Thread.new { churns }
churns
all.each(&:join)
exit!(0) if File.exist?("#{FOLDER}/stop")
exec(RbConfig.ruby, "--disable=gems", __FILE__, *ARGV)
