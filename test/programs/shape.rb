# A program of Ruby whose stacks are known: each part burns a tenth of a second, but where it says so.
PART = 0.1
KEPT = []

def burn(seconds)
  ends = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + seconds
  total = 0
  while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < ends
    i = 0
    while i < 200
      total += i * i
      i += 1
    end
  end
  total # burn ends
end

def three
  burn(3 * PART) # three burns
end

def one
  burn(PART) # one burns
end

def deeper(depth)
  return burn(PART) if depth == 0 # at the bottom
  deeper(depth - 1) # goes deeper
end

class Shop
  def sell
    burn(PART) # sells
  end

  def self.price(goods)
    burn(PART / 10) # asks the price
    goods
  end

  module Till
    def self.counts
      [1].map { |i| [i].map { burn(PART) } } # counts
    end
  end
end

def yields
  10.times { yield } # yields
end

def compares(a, b)
  burn(PART / 10) # compares
  a - b
end

def fails
  raise "as it should"
rescue RuntimeError
  burn(PART) # rescues
ensure
  burn(PART / 2) # ensures
end

# A fiber, with a stack of its own.
def fetches
  fiber = Fiber.new do
    burn(PART) # fetches
    Fiber.yield
  end
  fiber.resume
end

def works
  burn(PART) # works
end

# In a generator: a fiber that Ruby makes.
def generates
  numbers = Enumerator.new do |y|
    burn(PART) # generates
    y << 1
  end
  numbers.next
end

self.class.send(:define_method, :defined) { burn(PART) } # is defined

def naps(queue)
  queue.pop # naps
end

def hoards
  200.times { KEPT << ("x" * 100_000) } # hoards
end

# A method that is forgotten once it has run: its place is for the next one.
def made(name)
  maker = Class.new
  maker.class_eval("def #{name}(shape)\n  shape.send(:burn, #{PART / 50})\nend\n", "#{name}.rb")
  maker.new.send(name, self) # made
end

def main
  queue = Queue.new
  sleeper = Thread.new { naps(queue) }
  burn(4 * PART) # (by then it is profiled)
  deeper(60)
  Shop.new.sell
  (1..10).sort_by { |i| Shop.price(i) } # asks for prices
  Shop::Till.counts
  yields { burn(PART / 10) } # is yielded to
  [3, 1, 2, 5, 4].sort { |a, b| compares(a, b) } # sorts
  fails
  fetches
  generates
  defined
  Thread.new { works }.join
  50.times { |i| made("made_#{i}") }
  three
  one
  hoards
  queue << nil
  sleeper.join
  $stdout.write("ok #{KEPT.length}\n")
  $stdout.flush
  exit!(0) # or all would be freed in the end
end

main
