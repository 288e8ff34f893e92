using System.Net.Sockets;
using System.Text;

namespace ChargeHub.Sessions;

public enum StartResult { Started, Refused, Busy }

public sealed class SessionDesk(ModemLines lines, CardOffice cards, ILogger<SessionDesk> log)
{
    private const int ModemPort = 9100;

    public async Task<StartResult> StartAsync(string station, string card)
    {
        if (!await lines.TakeAsync(station))
            return StartResult.Busy;

        if (!await cards.MayChargeAsync(card))
        {
            log.LogInformation("Card refused at {Station}, {Free} of {Total} lines free", station, lines.Free, ModemLines.Total);
            return StartResult.Refused;
        }

        try
        {
            await SendAsync(station, "START " + card);
        }
        finally
        {
            lines.GiveBack();
        }

        log.LogInformation("Session started at {Station}, {Free} of {Total} lines free", station, lines.Free, ModemLines.Total);
        return StartResult.Started;
    }

    private static async Task SendAsync(string station, string command)
    {
        using var modem = new TcpClient();
        await modem.ConnectAsync($"{station}.stations.internal", ModemPort);
        await modem.GetStream().WriteAsync(Encoding.ASCII.GetBytes(command + "\n"));
    }
}
