namespace Toll
{
    public static class Program
    {
        public static void Main(string[] args)
        {
            var gate = new Gate(Tariffs.Read(args[0]), new Log());
            foreach (var car in Cars.Passing()) gate.Charge(car);
        }
    }
}
