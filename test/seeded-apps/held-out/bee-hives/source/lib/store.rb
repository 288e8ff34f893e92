require 'json'

module Store
  Hive = Struct.new(:name, :readings)
  Reading = Struct.new(:at, :kilograms)

  def self.hives
    JSON.parse(File.read(ENV.fetch('HIVES'))).map do |hive|
      Hive.new(hive['name'], hive['readings'].map { |at, kg| Reading.new(at, kg) })
    end
  end
end
