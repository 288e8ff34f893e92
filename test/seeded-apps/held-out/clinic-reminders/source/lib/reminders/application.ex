defmodule Reminders.Application do
  use Application

  @impl true
  def start(_type, _args) do
    children = [
      {Postgrex, name: Reminders.DB, hostname: "db.internal", database: "clinic", pool_size: 5},
      Reminders.Round,
      {Plug.Cowboy, scheme: :http, plug: Reminders.Web, options: [port: 4000]}
    ]

    Supervisor.start_link(children, strategy: :one_for_one, name: Reminders.Supervisor)
  end
end
