/** Installs the toy skill into the folder named first and kills itself before the disk call whose number is named second. */
import { applyPlan, planInstall } from '../../src/cli/install/install-skill.ts'
import { faultyFileSystem } from './faulty-file-system.ts'
import { toySkill } from './toy-skill.ts'

const [root = '', last = ''] = process.argv.slice(2)
let calls = 0
const disk = faultyFileSystem(() => {
  if (++calls === Number(last)) process.kill(process.pid, 'SIGKILL')
})
const plan = await planInstall(toySkill(), { cwd: root, home: root, user: false, agents: true })
process.stdout.write('writing\n')
const report = await applyPlan(plan, {}, disk)
process.stdout.write(`${JSON.stringify({ calls, failed: report.failed, refused: report.refused })}\n`)
