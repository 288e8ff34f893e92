/** Rows about the pipelines of an app for the table of every command and every exit code. */
import type { Row } from './notification-rows.ts'

const NO_PIPELINE = 'ppl_0mwhkcyh5nlh1pqqssy5gj19q'
const HINT = /svc apps pipelines/

/** In this order, on the app that `makeNotifications` makes. */
export const PIPELINE_ROWS: Row[] = [
  [
    'apps pipelines add shop nightly --cron "0 3 * * *" --timezone Europe/Berlin --grace 5 --concurrency queue',
    0,
    /^NAME +ID +SCHEDULE +TIME ZONE[^]*nightly +ppl_\w+ +0 3 \* \* \* +Europe\/Berlin +yes +- +- +20/,
  ],
  ['apps pipelines add shop nightly', 6, /already/],
  ['apps pipelines add shop never --cron "0 3 31 2 *"', 5, /cron: never comes due/],
  ['apps pipelines add shop Nightly', 5, /lowercase letter/],
  ['apps pipelines add shop other --grace 0', 5, /from 1 to 1440/],
  ['apps pipelines add shop other --concurrency maybe', 5, /Must be one of: allow, skip, queue/],
  ['apps pipelines add nothing nightly', 4, /svc apps list/],
  ['apps pipelines add shop other --context ro', 3, /error: /],
  ['apps pipelines shop', 0, /nightly +ppl_\w+ +0 3 \* \* \*/],
  ['apps pipelines shop --json', 0, /"recent_runs": \[\]/],
  ['apps pipelines nothing', 4, /svc apps list/],
  ['apps pipelines', 5, /requires <app>/],
  ['apps pipelines shop --context scoped', 3, /scopes of this token/],
  ['apps pipelines edit shop nightly --cron "" --timeout-minutes 90', 0, /nightly +ppl_\w+ +- +Europe/],
  ['apps pipelines edit shop nightly --disable --json', 0, /"timeout_minutes": 90,[^]*"enabled": false/],
  ['apps pipelines edit shop nightly --disable --enable', 5, /--enable conflicts with --disable/],
  ['apps pipelines edit shop nothing --enable', 4, /No pipeline is named nothing[^]*svc apps pipelines/],
  ['apps pipelines edit shop nightly --enable --context ro', 3, /error: /],
  ['apps pipelines run shop nightly', 0, /^RUN +STATE[^]*prn_\w+ +queued/],
  ['apps pipelines edit shop nightly --concurrency skip', 0, /nightly/],
  ['apps pipelines run shop nightly', 6, /The run before is not done/],
  ['apps pipelines run shop nothing', 4, HINT],
  ['apps pipelines run shop', 5, /requires <pipeline>/],
  ['apps pipelines run shop nightly --context ro', 3, /error: /],
  ['apps pipelines runs shop nightly --state queued', 0, /prn_\w+ +queued/],
  ['apps pipelines shop', 0, /nightly .* q /],
  ['apps pipelines runs shop nightly --state late', 5, /Must be one of: queued/],
  [`apps pipelines runs shop ${NO_PIPELINE}`, 4, HINT],
  ['apps pipelines runs shop nightly --context scoped', 3, /scopes of this token/],
  ['apps pipelines remove shop nightly', 5, /Add --yes/],
  ['apps pipelines remove shop nightly --yes --context ro', 3, /error: /],
  ['apps pipelines remove shop nightly --yes', 0, /Removed nightly/],
  ['apps pipelines remove shop nightly --yes', 4, HINT],
]

/** A line for every command that calls the server. */
export const PIPELINE_LINES = [
  'apps pipelines shop',
  'apps pipelines add shop weekly',
  'apps pipelines edit shop nightly --enable',
  'apps pipelines run shop nightly',
  'apps pipelines runs shop nightly',
  'apps pipelines remove shop nightly --yes',
]
