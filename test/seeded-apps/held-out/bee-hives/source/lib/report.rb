require_relative 'weights'

class Report
  def initialize(hive)
    @weights = Weights.new(hive.readings)
  end

  def line
    "#{@weights.mean} kg, #{@weights.change} since yesterday"
  end
end
