module Secrets
  def self.key
    File.read(ENV.fetch("KEY_FILE"))
  end
end
