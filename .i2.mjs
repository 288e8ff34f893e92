import { enableCompileCache } from 'node:module'
if (!process.env.NOCC) enableCompileCache('/work/main/node_modules/.cache/svc-compiled')
const l = (w) => { const c = process.cpuUsage(); console.error(w.padEnd(24), 'wall', performance.now().toFixed(0), 'cpu', ((c.user + c.system) / 1000).toFixed(0)) }
l('start'); await import('./src/config.ts'); l('config'); await import('./db/connect.ts'); l('connect'); await import('./src/system.ts'); l('system'); await import('./src/listener.ts'); l('listener'); await import('./src/first-run.ts'); l('first-run'); await import('./src/http/gateway.ts'); l('gateway'); await import('./oauth/app.ts'); l('auth'); await import('./src/console/app.ts'); l('console'); await import('./src/worker/jobs.ts'); l('jobs')
