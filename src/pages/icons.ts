/** Line icons on a 20-pixel grid, and the logo. */
import { html } from 'hono/html'

const SHAPES = {
  home: html`<path d="M3.5 9 10 3.5 16.5 9v7.5h-4.75v-4.25h-3.5v4.25H3.5z" />`,
  people: html`<circle cx="7.5" cy="7" r="2.75" /><path d="M2.5 16c.4-2.9 2.3-4.5 5-4.5s4.6 1.6 5 4.5M12.5 4.6a2.75 2.75 0 0 1 0 4.8M14.5 11.9c1.7.6 2.7 2 3 4.1" />`,
  list: html`<path d="M7 5h9.5M7 10h9.5M7 15h9.5M3.5 5h.01M3.5 10h.01M3.5 15h.01" />`,
  building: html`<path d="M4.5 16.5v-13h7v13M11.5 8h4v8.5M2.5 16.5h15M7 6.5h2M7 9.5h2M7 12.5h2" />`,
  key: html`<circle cx="6.75" cy="13.25" r="3.25" /><path d="m9.2 10.8 6.8-6.8M13.2 6.8l2.3 2.3" />`,
  shield: html`<path d="M10 2.75 16 5v4.5c0 3.7-2.4 6.4-6 7.75-3.6-1.35-6-4.05-6-7.75V5z" /><path d="m7.5 9.75 1.9 1.9 3.3-3.4" />`,
  plug: html`<path d="M7 2.75V6.5M13 2.75V6.5M5 6.5h10v3a5 5 0 0 1-10 0zM10 14.5v3" />`,
  window: html`<path d="M3 4.5h14v11H3zM3 8h14M5.6 6.25h.01M8 6.25h.01" />`,
  database: html`<ellipse cx="10" cy="5" rx="6" ry="2.25" /><path d="M4 5v10c0 1.25 2.7 2.25 6 2.25s6-1 6-2.25V5M4 10c0 1.25 2.7 2.25 6 2.25s6-1 6-2.25" />`,
  pulse: html`<path d="M2.5 10.5h3.25l2.25-6 4 11 2.25-5h3.25" />`,
  box: html`<path d="m10 2.75 6.5 3.5v7.5L10 17.25l-6.5-3.5v-7.5zM3.5 6.25 10 9.75l6.5-3.5M10 9.75v7.5" />`,
  person: html`<circle cx="10" cy="6.75" r="3.25" /><path d="M3.75 16.75c.6-3.3 2.9-5.1 6.25-5.1s5.65 1.8 6.25 5.1" />`,
  bell: html`<path d="M5 14.25V9a5 5 0 0 1 10 0v5.25l1.25 1.25H3.75zM8.25 17.25h3.5" />`,
  inbox: html`<path d="M3 11.5 5.25 4.5h9.5L17 11.5v4.25H3zM3 11.5h4l1 2h4l1-2h4" />`,
  branches: html`<circle cx="5" cy="10" r="2" /><circle cx="15" cy="4.75" r="2" /><circle cx="15" cy="15.25" r="2" /><path d="m6.8 9.1 6.4-3.4M6.8 10.9l6.4 3.4" />`,
  ledger: html`<path d="M4.5 3h11v14.25l-2.2-1.4-1.85 1.4L10 15.85l-1.45 1.4-1.85-1.4-2.2 1.4zM7.5 6.75h5M7.5 10h5" />`,
  wrench: html`<path d="M12.6 3.1a4 4 0 0 0-4.9 5.2L3.4 12.6v4h4l4.3-4.3a4 4 0 0 0 5.2-4.9l-2.5 2.5-2.7-.7-.7-2.7z" />`,
  send: html`<path d="m2.75 9.5 14-6-5.25 13.5-2.75-5.75zM8.75 11.25l8-7.75" />`,
  search: html`<circle cx="8.75" cy="8.75" r="5" /><path d="m12.5 12.5 4 4" />`,
  menu: html`<path d="M3.5 6h13M3.5 10h13M3.5 14h13" />`,
  down: html`<path d="m5.75 8 4.25 4.25L14.25 8" />`,
  chevrons: html`<path d="m6.75 8 3.25-3.25L13.25 8M6.75 12 10 15.25 13.25 12" />`,
  check: html`<path d="m4.5 10.5 3.6 3.6 7.4-8.2" />`,
  plus: html`<path d="M10 4.5v11M4.5 10h11" />`,
  alert: html`<path d="M10 6.25v4.5M10 13.6h.01" /><circle cx="10" cy="10" r="7" />`,
  close: html`<path d="m5.5 5.5 9 9M14.5 5.5l-9 9" />`,
} as const

export type IconName = keyof typeof SHAPES

type Icon = ReturnType<typeof html>

/** Made once: a page has dozens. */
const ICONS = Object.fromEntries(
  Object.entries(SHAPES).map(([name, shape]) => [
    name,
    html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true">${shape}</svg>`,
  ]),
) as Record<IconName, Icon>

export const icon = (name: IconName): Icon => ICONS[name]

export const mark = () =>
  html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path class="mark-arch" d="M4 29V15a12 12 0 0 1 24 0v14z" /><path class="mark-arch-inner" d="M10.5 29V16.5a5.5 5.5 0 0 1 11 0V29z" /><circle class="mark-light" cx="16" cy="17.5" r="2.75" /></svg>`
