/**
 * A scripted model on a seeded app: it is told what there is to find, reads it and records it. It shows that the machinery works
 * on the app, and says nothing about what a model would find.
 */
import type { ModelRequest } from '../../src/contracts/model-port.ts'
import { heardBy, turnOf, type Script, type ScriptedCall } from './maintained-app.ts'
import type { SeededApp } from './seeded-apps.ts'

const WEEK_MS = 7 * 24 * 60 * 60_000

export const scriptFor = ({ finding }: SeededApp, now: Date): Script => {
  const since = new Date(now.getTime() - WEEK_MS).toISOString()
  const look: ScriptedCall[] = [
    ['log_groups', { since }],
    ['check_history', {}],
    ['recent_deployments', {}],
    ['read_logs', { limit: 5 }],
    ['read_logs', { level: 'error', limit: 200 }],
  ]
  if (!finding)
    return turns(
      () => look,
      () => [['finish', { conclusion: 'nothing_found' }]],
    )
  const [start, end] = finding.lines
  return turns(
    () => [...look, ['read_file', { path: finding.path, start, end }]],
    (request) => [
      [
        'record_finding',
        {
          kind: 'error',
          summary: `As the script says: ${finding.path}, line ${start}.`,
          evidence: refsIn(request),
          location: { path: finding.path, line: start },
        },
      ],
    ],
    () => [['finish', { conclusion: 'unsure' }]],
  )
}

const turns =
  (...script: ((request: ModelRequest) => ScriptedCall[])[]): Script =>
  (request, asked) =>
    turnOf(script[Math.min(asked, script.length - 1)]!(request))

/** The file, and a line of the log. */
function refsIn(request: ModelRequest): string[] {
  const heard = heardBy(request)
  const file = heard.find(({ tool }) => tool === 'read_file')!.data as { ref: string }
  // Some apps log no line as an error.
  const [line] = heard
    .filter(({ tool }) => tool === 'read_logs')
    .flatMap(({ data }) => (data as { lines: { ref: string }[] }).lines)
  return [file.ref, line!.ref]
}
