require_relative 'lib/score'

loop do
  answer = gets or break
  puts "INFO answer #{answer.inspect} scored #{Score.of(answer)}"
rescue StandardError => e
  puts "ERROR #{e.full_message(highlight: false)}"
end
