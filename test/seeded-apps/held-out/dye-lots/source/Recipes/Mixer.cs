namespace DyeLots.Recipes;

public sealed class Mixer(RecipeBook book)
{
    public Dictionary<string, double> Mix(string color, double kilograms)
    {
        var recipe = book.Of(color);
        return recipe.ToDictionary(part => part.Key, part => part.Value * kilograms);
    }
}
