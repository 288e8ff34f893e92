require_relative "bounces"

module Newsletter
  def self.deliver(issue, subscribers, mail, log)
    subscribers.each do |subscriber|
      mail.send(subscriber, issue.body)
      log.info("issue #{issue.number} sent to #{subscriber.id}")
    rescue Mail::Rejected => error
      Bounces.add(subscriber, error)
      log.error("delivery to #{subscriber.id} rejected: #{error.code}")
    end
  end
end
