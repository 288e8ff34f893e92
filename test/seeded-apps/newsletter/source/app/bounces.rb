module Bounces
  LIMIT = 3

  def self.add(subscriber, error)
    subscriber.bounces += 1
    subscriber.stop! if subscriber.bounces >= LIMIT
  end
end
