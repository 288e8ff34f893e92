module Nightly
  def self.run(log)
    removed = Subscriber.stopped.delete_all
    log.info("nightly cleanup: #{removed} removed")
  end
end
