using ChargeHub.Sessions;

var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders().AddJsonConsole();
builder.Services.AddSingleton<ModemLines>();
builder.Services.AddSingleton<SessionDesk>();
builder.Services.AddHttpClient<CardOffice>(client =>
{
    client.BaseAddress = new Uri("http://cards.internal");
    client.Timeout = TimeSpan.FromSeconds(4);
});

var app = builder.Build();

app.MapGet("/ready", (ModemLines lines) => lines.Free > 0 ? Results.Ok() : Results.StatusCode(503));

app.MapPost("/stations/{station}/sessions", async (string station, StartRequest request, SessionDesk desk) =>
    await desk.StartAsync(station, request.Card) switch
    {
        StartResult.Started => Results.Accepted(),
        StartResult.Refused => Results.StatusCode(403),
        _ => Results.StatusCode(503),
    });

app.Run();

record StartRequest(string Card);
