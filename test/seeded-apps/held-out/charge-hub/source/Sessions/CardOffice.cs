using System.Net;

namespace ChargeHub.Sessions;

/// <summary>Knows which cards may charge.</summary>
public sealed class CardOffice(HttpClient http, ILogger<CardOffice> log)
{
    private const int Attempts = 3;

    public async Task<bool> MayChargeAsync(string card)
    {
        for (var attempt = 1; ; attempt++)
        {
            try
            {
                using var answer = await http.GetAsync($"/cards/{Uri.EscapeDataString(card)}");
                if (answer.StatusCode == HttpStatusCode.NotFound)
                    return false;
                answer.EnsureSuccessStatusCode();
                return true;
            }
            catch (HttpRequestException e) when (attempt < Attempts)
            {
                log.LogWarning("Card office, attempt {Attempt} of {Attempts}: {Reason}", attempt, Attempts, e.Message);
                await Task.Delay(TimeSpan.FromMilliseconds(300 * attempt));
            }
        }
    }
}
