import Config

config :logger, :default_formatter, format: "[$level] $message\n"
config :reminders, sms_url: "http://sms.internal/v1/messages"
