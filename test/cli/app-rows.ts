/** Rows about what an app has for the table of every command and every exit code. */
import type { Call } from '../../src/client/http-client.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { LOG_LEVELS } from '../../src/contracts/log-levels.ts'
import { groupId } from '../../src/cores/logs/line-ids.ts'
import { keyOf } from '../../src/cores/logs/prepare-lines.ts'
import type { Row } from './notification-rows.ts'

/** On the app that `makeNotifications` makes. */
export async function makeAppThings(make: Call): Promise<Record<string, string>> {
  const { id } = await make(createAppToken, { alias: 'shop', name: 'old', scope: 'apps:run' })
  return { apptoken: id }
}

/** A group is known by the level and the template of its lines, in every app. */
const DECLINED = groupId(keyOf(LOG_LEVELS.indexOf('error'), 'card declined'))
const NO_BINDING = 'wlb_0mwhkcyh5nlh1pqqssy5gj19q'
const NO_TOKEN = 'apt_0mwhkcyh5nlh1pqqssy5gj19q'

export const APP_ROWS: Row[] = [
  [
    'apps tokens create shop --scope apps:report --name collector',
    0,
    /^id: +apt_\w+\nname: +collector\nscope: +apps:report\ntoken: +svca_\w+\nStore the token now/,
  ],
  ['apps tokens create shop --scope apps:run --json', 0, /"name": "runner"[^]*"token": "svca_/],
  ['apps tokens create shop', 5, /Missing option --scope/],
  ['apps tokens create shop --scope data:read', 5, /Must be one of: apps:report, apps:run/],
  ['apps tokens create nothing --scope apps:run', 4, /svc apps list/],
  ['apps tokens create shop --scope apps:run --context ro', 3, /error: /],
  ['apps tokens shop', 0, /^TOKEN +NAME +SCOPE +STARTS WITH[^]*collector +apps:report +svca_/],
  ['apps tokens nothing', 4, /svc apps list/],
  ['apps tokens', 5, /requires <app>/],
  ['apps tokens shop --context scoped', 3, /scopes of this token/],
  ['apps tokens creat shop', 5, /Did you mean svc apps tokens create/],
  ['apps tokens rotate shop {apptoken}', 0, /token: +svca_\w+\n[^]*The old one works until 20/],
  ['apps tokens rotate shop {apptoken} --overlap 169', 5, /Invalid value for --overlap: 169/],
  ['apps tokens rotate shop {apptoken} --context ro', 3, /error: /],
  [`apps tokens rotate shop ${NO_TOKEN}`, 4, /svc apps tokens/],
  ['apps tokens revoke shop {apptoken}', 5, /Add --yes/],
  ['apps tokens revoke shop {apptoken} --yes', 0, /Revoked/],
  ['apps tokens revoke shop {apptoken} --yes', 4, /svc apps tokens/],
  [`apps tokens revoke shop ${NO_TOKEN} --yes --context ro`, 3, /error: /],

  // No git host: what setting one does is in test/walks/remotes.test.ts.
  ['apps remote show shop', 0, /^host: +none\n/],
  ['apps remote show nothing', 4, /svc apps list/],
  ['apps remote show', 5, /requires <app>/],
  ['apps remote show shop --context scoped', 3, /scopes of this token/],
  ['apps remote set shop --host svn --url https://git.test/a/b --token x', 5, /Must be one of: github/],
  [
    'apps remote set shop --host gitea --url https://10.0.0.1/a/b --token -',
    5,
    /url: is no address that svc may send to/,
    { stdin: 'secret' },
  ],
  ['apps remote set nothing --host gitea --url https://10.0.0.1/a/b --token x', 4, /svc apps list/],
  ['apps remote set shop --host gitea --url https://10.0.0.1/a/b --token x --context ro', 3, /error: /],
  ['apps remote secret shop', 4, /svc apps list/],
  ['apps remote secret', 5, /requires <app>/],
  ['apps remote secret shop --context ro', 3, /error: /],
  ['apps remote remove shop', 5, /Add --yes/],
  ['apps remote remove shop --yes', 4, /svc apps list/],
  ['apps remote remove shop --yes --context ro', 3, /error: /],

  // No cluster: what binding does in one is in test/walks/workload-identity.test.ts.
  [
    'apps bind shop --namespace shop --service-account worker',
    6,
    /Workload identity is off[^]*SERVER_API_TOKEN/,
  ],
  ['apps bind shop --namespace shop', 5, /Missing option --service-account/],
  ['apps bind shop --service-account worker', 5, /Missing option --namespace/],
  ['apps bind shop --namespace Shop --service-account worker', 5, /namespace/],
  ['apps bind nothing --namespace shop --service-account worker', 4, /svc apps list/],
  ['apps bind shop --namespace shop --service-account worker --context ro', 3, /error: /],
  ['apps bindings shop', 0, /^BINDING +NAMESPACE +SERVICE ACCOUNT/],
  ['apps bindings nothing', 4, /svc apps list/],
  ['apps bindings', 5, /requires <app>/],
  ['apps bindings shop --context scoped', 3, /scopes of this token/],
  [`apps bindings remove shop ${NO_BINDING}`, 5, /Add --yes/],
  [`apps bindings remove shop ${NO_BINDING} --yes`, 4, /svc apps bindings/],
  [`apps bindings remove shop ${NO_BINDING} --yes --context ro`, 3, /error: /],

  [
    'apps logs push shop',
    0,
    /^accepted: +3\nrejected: +0\ndropped: +0\n$/,
    { stdin: '{"level":"error","msg":"card declined"}\n\nplain password=hunter2\nno end' },
  ],
  ['apps logs push shop --json', 0, /"accepted": 0/],
  ['apps logs push nothing', 4, /svc apps list/],
  ['apps logs push shop --context ro', 3, /error: /],
  ['apps logs push shop', 5, /Nothing to read/, { terminal: true }],
  ['apps logs shop', 0, /Z ERROR card declined\n[^]*Z INFO {2}plain password=\[hidden\]\n[^]*no end\n$/],
  ['apps logs shop --since 15m --level error --grep DECLINED --json', 0, /"text": "card declined"/],
  ['apps logs shop --since 1d --level fatal', 0, /^$/],
  ['apps logs shop --since yesterday', 5, /Invalid value for --since: yesterday/],
  ['apps logs shop --level loud', 5, /Must be one of: trace/],
  ['apps logs nothing --follow', 4, /svc apps list/],
  ['apps logs shop --follow -o yaml', 5, /--follow conflicts with -o yaml/],
  ['apps logs shop --follow --until 1h', 5, /--follow conflicts with --until/],
  ['apps logs shop --since 2d --until 1d', 0, /^$/],
  ['apps logs shop --group lgr_0mwhkcyh5nlh1pqqssy5gj19q', 0, /^$/],
  ['apps logs shop --group nonsense', 5, /group_id/],
  ['apps logs groups shop', 0, /^GROUP +LEVEL +LINES[^]*lgr_\w+ +error +1 [^]*card declined/],
  ['apps logs groups shop --level error --until 1h --json', 0, /"groups": \[\]/],
  ['apps logs groups shop --level loud', 5, /Must be one of: trace/],
  ['apps logs groups nothing', 4, /svc apps list/],
  ['apps logs groups shop --context ro', 3, /error: /],
  ['apps logs shop --context ro', 3, /error: /],
  [`apps incident shop ${DECLINED}`, 0, /^TIME +WHAT +BY +ID\n20\S+ +First logged[^]*\ncard declined\n$/],
  [`apps incident shop ${DECLINED} --json`, 0, /"suggested_check": \{\s*"name": "card declined"/],
  [`apps incident nothing ${DECLINED}`, 4, /svc apps/],
  ['apps incident shop lgr_0mwhkcyh5nlh1pqqssy5gj19q', 4, /svc apps logs groups/],
  ['apps incident shop', 5, /requires <incident_id>/],
  [`apps incident shop ${DECLINED} --context scoped`, 3, /scopes of this token/],
  [
    'apps events send shop app.shop.order_failed --subject order-1 --text "The card was declined"',
    0,
    /^id: +evt_\w+\n/,
  ],
  ['apps events send shop app.shop.paid --subject order-1 --idempotency-key one', 0, /^id: +evt_\w+\n/],
  ['apps events send shop app.shop.paid --subject order-2 --idempotency-key one', 6, /error: /],
  ['apps events send shop app.other.order_failed --subject order-1', 5, /error: /],
  ['apps events send shop app.shop.order_failed', 5, /--subject/],
  ['apps events send nothing app.nothing.order_failed --subject order-1', 4, /svc apps list/],
  [
    'apps events send shop app.shop.order_failed --subject order-1 --context scoped',
    3,
    /scopes of this token/,
  ],
]

/** A line for every command that calls the server. */
export const APP_LINES = [
  'apps events send shop app.shop.order_failed --subject order-1',
  'apps logs shop',
  'apps logs groups shop',
  `apps incident shop ${DECLINED}`,
  'apps logs push shop',
  'apps remote show shop',
  'apps remote set shop --host gitea --url https://10.0.0.1/a/b --token x',
  'apps remote secret shop',
  'apps remote remove shop --yes',
  'apps tokens shop',
  'apps tokens create shop --scope apps:run',
  `apps tokens rotate shop ${NO_TOKEN}`,
  `apps tokens revoke shop ${NO_TOKEN} --yes`,
  'apps bind shop --namespace shop --service-account worker',
  'apps bindings shop',
  `apps bindings remove shop ${NO_BINDING} --yes`,
]

export const APP_UNTRIED: Record<string, { exits: number[]; because: string }> = {
  'apps remote set': { exits: [0], because: 'needs a git host: test/walks/remotes.test.ts' },
  'apps remote secret': { exits: [0], because: 'needs a git host: test/walks/remotes.test.ts' },
  'apps remote remove': { exits: [0], because: 'needs a git host: test/walks/remotes.test.ts' },
  'apps bind': { exits: [0], because: 'needs a cluster: test/walks/workload-identity.test.ts' },
  'apps bindings remove': { exits: [0], because: 'needs a cluster: test/walks/workload-identity.test.ts' },
  'apps tokens create': {
    exits: [6],
    because: 'needs as many tokens as an app may have: test/walks/app-tokens.test.ts',
  },
}
