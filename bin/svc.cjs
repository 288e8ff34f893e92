#!/usr/bin/env node
// Starts the client: the built one where svc is installed, the sources in a checkout. Plain JavaScript, because the Node
// that reads this may be an old one. CommonJS, because starting Node's ES module loader takes a sixth of the time of an empty
// process, in every call of `svc`.
const { existsSync, readFileSync, writeSync } = require('node:fs')
const path = require('node:path')

const ROOT = path.join(__dirname, '..')
const BUILT = path.join(ROOT, 'dist', 'cli', 'main.cjs')
const SOURCE = path.join(ROOT, 'src', 'cli', 'main.ts')

const [first] = process.argv.slice(2)

if (first === '--version' || first === '-V') {
  // Not `process.stdout`, which takes longer to open than all the rest.
  writeSync(1, `${JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version}\n`)
} else if (isCheckout() || !existsSync(BUILT)) {
  // Set where Node runs TypeScript as it is: 22.18, 23.6 and everything from 24 on.
  if (process.features.typescript) void import(SOURCE)
  else startWithBundledNode()
} else {
  require(BUILT)
}

/**
 * A build in a checkout may be older than its sources, and nobody would notice. An installed package has no .git, and its
 * dist/ was built when it was packed.
 */
function isCheckout() {
  return existsSync(path.join(ROOT, '.git'))
}

function startWithBundledNode() {
  const { spawn } = require('node:child_process')
  const { constants } = require('node:os')
  const bundled = path.join(ROOT, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  if (!existsSync(bundled)) {
    console.error(
      `error: svc is not built here, and its sources need Node 22.18 or newer; this is Node ${process.versions.node}\n` +
        'hint: Run `npm ci` first (on Linux it installs a suitable Node), or install a newer Node.',
    )
    process.exit(1)
  }
  const client = spawn(bundled, [SOURCE, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
    process.on(signal, () => {
      // At a terminal Ctrl-C reaches the whole process group, so the client has received it already.
      const fromTerminal = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')
      if (!fromTerminal) client.kill(signal)
    })
  }
  client.on('error', (error) => {
    console.error(`error: ${bundled} failed to start: ${error.message}`)
    process.exit(1)
  })
  client.on('exit', (code, signal) => {
    // Killed by a signal: the exit code that shells use.
    process.exit(signal ? 128 + constants.signals[signal] : code)
  })
}
