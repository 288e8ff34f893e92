using DyeLots.Recipes;

var app = WebApplication.CreateBuilder(args).Build();
var book = new RecipeBook("recipes.json");
app.MapGet("/lots/{color}/{kilograms}", (string color, double kilograms, ILogger<Program> log) =>
{
    var parts = new Mixer(book).Mix(color, kilograms);
    log.LogInformation("Lot of {Color} mixed", color);
    return parts;
});
app.Run();
