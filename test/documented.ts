/**
 * How the commands of each page were tried, by page and heading. `runs`: a proof pastes this very text. `like`: a proof does the
 * same in words of its own. `not tried`: with why. test/repository/documented.test.ts finds what is missing here.
 */
type How = { readonly runs: string } | { readonly like: string } | { readonly not: string }

const runs = (proof: string): How => ({ runs: `test/long/${proof}.test.ts` })
const like = (file: string): How => ({ like: `test/${file}.test.ts` })
const not = (why: string): How => ({ not: why })

const CLUSTER = not('needs a cluster with an ingress; the chart is rendered by test/repository/chart.test.ts')
const DEVELOPER = not('is for developers, who see at once whether it works')

export const HOW_TRIED: Readonly<Record<string, Readonly<Record<string, How>>>> = {
  'README.md': {
    'Quick start': runs('fresh-clone'),
    'Connect an assistant': runs('readme'),
    'Your own data': runs('readme'),
    'In a container': runs('readme'),
    Tour: runs('readme'),
  },
  'docs/apps.md': {
    'Connect a repository': like('cli/commands'),
    Source: like('cli/commands'),
    Deployments: like('long/runner'),
    'What becomes of a deployment': like('cli/commands'),
    'When a runner is lost': like('long/runner'),
    Logs: like('cli/commands'),
    Incidents: like('cli/commands'),
    Checks: like('cli/commands'),
    Pipelines: like('cli/commands'),
    'A worker': like('long/worker-sdk'),
    'Events of an app': like('walks/app-events'),
    'Workload identity': like('cli/commands'),
    Tokens: like('cli/commands'),
  },
  'docs/client.md': {
    Install: like('long/packed-client'),
    'Log in': like('cli/commands'),
    'The API, psql and the console': like('cli/commands'),
    'Load a file': like('cli/commands'),
    Evals: like('cli/commands'),
    'Sync documents': like('cli/commands'),
    Maintenance: like('cli/commands'),
  },
  'docs/contributing.md': {
    'Set-up': runs('fresh-clone'),
    'Add an operation': DEVELOPER,
    'Add a client command': DEVELOPER,
    'Add a page': DEVELOPER,
  },
  'docs/enterprise.md': {
    'Set up in ten minutes': like('cli/commands'),
    'Machine agents': like('conformance/machine-clients'),
  },
  'docs/install.md': {
    'Check the files': runs('fresh-clone'),
    Server: runs('fresh-clone'),
    Client: runs('fresh-clone'),
    'Worker SDK': like('long/worker-sdk'),
    'Image and chart': not('no Helm was at hand; the image is built by test/long/built-image.test.ts'),
  },
  'docs/maintenance.md': {
    'Turn it on': like('cli/commands'),
    Models: not('needs a model of a provider'),
    "The team's git": like('walks/remotes'),
  },
  'docs/operating.md': {
    'Example: two hosts': runs('two-hosts'),
    'Lost password': like('long/one-process'),
    'Hosted auth': like('long/split'),
    Assistants: like('conformance/real-clients'),
    Enterprise: like('cli/commands'),
    'Agent skills': like('long/npx-skills'),
    'Models of a provider': not('needs a model of a provider'),
    'Operator API': like('walks/admission'),
    'Message queue': like('cli/commands'),
    'Support sessions': like('walks/support-access'),
    'Backup and restore': like('long/one-process'),
    'Backup of Postgres': runs('postgres-backup'),
  },
  'docs/programs.md': {
    '': not('only sets the two variables of the programs below it'),
    curl: runs('programs'),
    Python: runs('programs'),
    TypeScript: runs('programs'),
  },
  'docs/self-hosting.md': {
    Systemd: not(
      'needs systemd as the first process; the unit is read by test/repository/systemd-unit.test.ts',
    ),
    Image: like('long/built-image'),
    Compose: like('long/built-image'),
    Install: CLUSTER,
    Secrets: CLUSTER,
    Upgrade: CLUSTER,
    'Upgrade from a chart before 0.5.0': CLUSTER,
    'How the chart is tested': like('repository/chart'),
  },
}
