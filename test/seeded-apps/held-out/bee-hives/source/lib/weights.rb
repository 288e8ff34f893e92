class Weights
  def initialize(readings)
    @readings = readings
  end

  def mean
    total = @readings.map(&:kilograms).reduce(:+)
    (total&./(@readings.size)).round(1)
  end

  def change
    return 0.0 if @readings.size < 2

    (@readings.last.kilograms - @readings.first.kilograms).round(1)
  end
end
