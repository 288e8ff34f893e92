using System;

namespace Toll
{
    public class Gate(Tariffs tariffs, ILog log)
    {
        public void Charge(Car car)
        {
            try
            {
                // Weekends are cheaper.
                car.Owner.Debit(tariffs.PriceOn(car.PassedAt));
            }
            catch (Exception e)
            {
                throw new GateException($"car {car.Id} was not charged", e);
            }
        }
    }
}
