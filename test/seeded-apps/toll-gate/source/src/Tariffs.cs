using System;

namespace Toll
{
    public class Tariffs
    {
        public decimal Weekday { get; init; }
        public decimal? Weekend { get; init; }

        /// The price of a passage.
        public decimal PriceOn(DateTime day)
        {
            if (day.DayOfWeek is not (DayOfWeek.Saturday or DayOfWeek.Sunday))
                return Weekday;
            return Weekend.Value;
        }
    }
}
