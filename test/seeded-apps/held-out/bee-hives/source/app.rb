require_relative 'lib/report'
require_relative 'lib/store'

Store.hives.each do |hive|
  puts "INFO -- : report of #{hive.name} made: #{Report.new(hive).line}"
rescue StandardError => e
  warn "ERROR -- : report of #{hive.name} failed: #{e.full_message(highlight: false)}"
end
