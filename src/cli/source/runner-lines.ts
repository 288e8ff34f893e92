/** How a runner and a log shipper are started, for the three ways in which people keep programs running. */

export type Place = {
  readonly alias: string
  /** With both tokens, as assignments. */
  readonly file: string
  /** That deploys a revision. */
  readonly command: string
}

/** For a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

export function runnerLines({ alias, file, command }: Place): string[] {
  // Neither what deploys nor the program itself gets a token that it does not need.
  const unset = 'unset SVC_RUNNER_TOKEN SVC_REPORTING_TOKEN'
  const runner = `export SVC_API_KEY=$SVC_RUNNER_TOKEN; ${unset}; exec svc apps runner ${alias} --exec ${quoted(command)}`
  const shipper = `key=$SVC_REPORTING_TOKEN; ${unset}; your-program 2>&1 | SVC_API_KEY=$key svc apps logs push ${alias}`
  // In a unit, and in a compose file, a dollar is written twice.
  const doubled = (line: string) => line.replaceAll('$', '$$$$')
  const inUnit = (line: string) =>
    doubled(line)
      .replaceAll('%', '%%')
      .replaceAll('"', String.raw`\"`)
  const inYaml = (line: string) => `[sh, -c, ${JSON.stringify(line)}]`
  return [
    'In a shell:',
    `  runner: (set -a; . ${quoted(file)}; ${runner})`,
    `  logs:   (set -a; . ${quoted(file)}; ${shipper})`,
    'For systemd, in [Service]:',
    `  EnvironmentFile=${file}`,
    `  ExecStart=/bin/sh -c "${inUnit(runner)}"`,
    `  ExecStart=/bin/sh -c "${inUnit(shipper)}"    (in the unit of your program)`,
    'For compose:',
    `  env_file: ${JSON.stringify(file)}`,
    `  command: ${inYaml(doubled(runner))}`,
    `  command: ${inYaml(doubled(shipper))}    (of your program)`,
    `For Kubernetes: kubectl create secret generic svc-${alias} --from-env-file=${quoted(file)}`,
    `  envFrom: [{ secretRef: { name: svc-${alias} } }]`,
    `  command: ${inYaml(runner)}`,
    `  command: ${inYaml(shipper)}    (of your program)`,
  ]
}
