defmodule Reminders.Sms do
  require Logger

  @attempts 3

  def send(phone, text, attempt \\ 1) do
    url = Application.fetch_env!(:reminders, :sms_url)

    case Req.post(url, json: %{to: phone, text: text}, retry: false) do
      {:ok, %{status: status}} when status in 200..299 ->
        if attempt > 1, do: Logger.info("sms: sent with attempt #{attempt}")
        :ok

      {:ok, %{status: status}} ->
        again(phone, text, attempt, "gateway answered #{status}")

      {:error, error} ->
        again(phone, text, attempt, Exception.message(error))
    end
  end

  defp again(_phone, _text, @attempts, reason), do: {:error, reason}

  defp again(phone, text, attempt, reason) do
    Logger.warning("sms: attempt #{attempt} of #{@attempts} failed: #{reason}")
    Process.sleep(500 * attempt)
    send(phone, text, attempt + 1)
  end
end
