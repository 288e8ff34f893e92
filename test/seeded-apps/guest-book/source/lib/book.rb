class Book
  def initialize(entries)
    @entries = entries
  end

  def add(name, text)
    @entries << { name: name.strip, text: text, at: Time.now }
    puts "entry by #{name}: #{text}"
  end

  def page(number)
    shown = @entries.reverse.each_slice(20).to_a[number - 1]
    shown.map { |entry| "#{entry[:name]}: #{entry[:text]}" }.join("\n")
  end
end
