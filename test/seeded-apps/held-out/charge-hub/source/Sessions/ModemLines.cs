namespace ChargeHub.Sessions;

/// <summary>The provider gives us eight lines to the stations' modems; whoever takes one gives it back.</summary>
public sealed class ModemLines(ILogger<ModemLines> log)
{
    public const int Total = 8;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(10);
    private readonly SemaphoreSlim _lines = new(Total, Total);

    public int Free => _lines.CurrentCount;

    public async Task<bool> TakeAsync(string station)
    {
        if (await _lines.WaitAsync(Patience))
            return true;
        log.LogError("No line to {Station} within 10 s, {Free} of {Total} lines free", station, Free, Total);
        return false;
    }

    public void GiveBack() => _lines.Release();
}
