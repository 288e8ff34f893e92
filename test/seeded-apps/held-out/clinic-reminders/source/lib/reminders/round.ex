defmodule Reminders.Round do
  @moduledoc "Every ten minutes: reminds the owners whose visit is tomorrow. What could not be sent is due again in the next round."
  use GenServer
  require Logger

  @every :timer.minutes(10)

  def start_link(_), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil) do
    send(self(), :round)
    {:ok, nil}
  end

  @impl true
  def handle_info(:round, state) do
    visits = due()
    sent = Enum.count(visits, &remind/1)
    Logger.info("round: #{sent} of #{length(visits)} reminders sent")
    Process.send_after(self(), :round, @every)
    {:noreply, state}
  end

  defp due do
    query = "SELECT id, phone, pet FROM visits WHERE day = current_date + 1 AND reminded_at IS NULL"
    Postgrex.query!(Reminders.DB, query, []).rows
  end

  defp remind([id, phone, pet]) do
    case Reminders.Sms.send(phone, "#{pet} has an appointment tomorrow.") do
      :ok ->
        Postgrex.query!(Reminders.DB, "UPDATE visits SET reminded_at = now() WHERE id = $1", [id])
        true

      {:error, reason} ->
        Logger.error("visit #{id}: reminder not sent (#{reason}), due again in the next round")
        false
    end
  end
end
