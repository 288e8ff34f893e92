defmodule Reminders.MixProject do
  use Mix.Project

  def project, do: [app: :reminders, version: "1.3.0", elixir: "~> 1.16", deps: deps()]

  def application, do: [extra_applications: [:logger], mod: {Reminders.Application, []}]

  defp deps, do: [{:plug_cowboy, "~> 2.7"}, {:postgrex, "~> 0.18"}, {:req, "~> 0.5"}, {:jason, "~> 1.4"}]
end
