using System.Text.Json;

namespace DyeLots.Recipes;

public sealed class RecipeBook
{
    private readonly Dictionary<string, Dictionary<string, double>> _recipes;

    public RecipeBook(string file) =>
        _recipes = JsonSerializer.Deserialize<Dictionary<string, Dictionary<string, double>>>(File.ReadAllText(file))!;

    public IReadOnlyDictionary<string, double> Of(string color)
    {
        return _recipes[color];
    }
}
