defmodule Reminders.Web do
  @moduledoc "Takes the owners' answers from the gateway."
  use Plug.Router
  require Logger

  @slow_ms 800

  plug Plug.Logger
  plug :match
  plug Plug.Parsers, parsers: [:json], json_decoder: Jason
  plug :dispatch

  get "/health" do
    send_resp(conn, 200, "ok")
  end

  post "/replies" do
    started = System.monotonic_time(:millisecond)

    case conn.body_params do
      %{"from" => from, "text" => text} when is_binary(from) and is_binary(text) ->
        Logger.info("reply from #{from}: #{inspect(text)}")
        Postgrex.query!(Reminders.DB, "INSERT INTO replies (phone, text) VALUES ($1, $2)", [from, text])
        took = System.monotonic_time(:millisecond) - started
        if took > @slow_ms, do: Logger.warning("slow reply: #{took}ms")
        send_resp(conn, 204, "")

      _ ->
        Logger.warning("reply refused: no sender or no text")
        send_resp(conn, 422, "")
    end
  end

  match _ do
    send_resp(conn, 404, "")
  end
end
