import { readFileSync } from 'node:fs'
import type { Program } from '../../deploy/local/debian/packages.ts'
import type { Recorder } from '../ecosystem/report.ts'
import { ids, SimulatorProcess } from '../simulator/simulator-process.ts'
import { azLines, typedLinesOf } from './az-lines.ts'
import { AzureUser } from './azure-cli.ts'
import { errorIn, judged } from './refused-lines.ts'

/** What the pages speak of. */
const [name, resourceGroup] = ['my-cluster', 'my-group']
const agentPoolProfiles = [
  { name: 'system', mode: 'System', count: 3 },
  { name: 'user1', mode: 'User', count: 1, enableAutoScaling: true, minCount: 1, maxCount: 3 },
].map((pool) => ({ type: 'VirtualMachineScaleSets', vmSize: 'Standard_D4s_v5', ...pool }))

const setup = ['admin', 'aks', 'setup', '--dry-run', '--cluster-name', name, '--resource-group', resourceGroup] as const

/** Has the Azure CLI run what `joiner admin aks setup` prints, then each of its commands on our pages, against the simulator. */
export async function proveAzureCli(program: Program, recorder: Recorder): Promise<void> {
  await withUser(program, async (user) => {
    await setUp(user, recorder)
    const variables = await variablesOf(user)
    for (const line of azLines()) {
      recorder.say(line.text)
      const { outcome, isOk } = judged(line.text, await user.run(line.text, variables))
      recorder.record({
        part: 'azure-cli',
        what: `${line.pages.join(', ')}: ${line.text.slice(0, 100)}`,
        outcome,
        isOk,
      })
    }
    await typed(user, 'docs/install-aks.md', recorder)
  })
  // What the commands above have deleted is there in a cluster of their own.
  for (const page of ['docs/from-nap.md', 'docs/from-cluster-autoscaler.md'])
    await withUser(program, async (user) => {
      await user.must(await user.joiner(...setup))
      await typed(user, page, recorder)
    })
}

/** Somebody who is logged in to a simulated Azure of their own. */
async function withUser(program: Program, work: (user: AzureUser) => Promise<void>): Promise<void> {
  const managedClusters = [resourceGroup, 'joiner-demo'].map((group) => ({
    name,
    resourceGroup: group,
    properties: { agentPoolProfiles },
  }))
  const simulator = await SimulatorProcess.start({ clusterName: name, managedClusters, roles: ['Owner'] })
  try {
    const user = await AzureUser.arrive(program, simulator)
    try {
      await user.must('az login')
      await work(user)
    } finally {
      await user.leave()
    }
  } finally {
    await simulator.stop()
  }
}

/** Has one shell run a page from top to bottom: each command reads what those before it put into variables and files. */
async function typed(user: AzureUser, page: string, { say, record }: Recorder): Promise<void> {
  const lines = typedLinesOf(page, readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8'))
  say(`${page}, ${lines.length} lines in one shell`)
  const [begin, end] = ['--- line', '--- ended']
  const script = lines.map((line) => `echo '${begin}'\n${line}\necho "${end} $?"`).join('\n')
  const { output } = await user.run(`set +e\n${script}`, {}, lines.length)
  const parts = output.split(`${begin}\n`).slice(1)
  for (const [at, line] of lines.entries()) {
    const [said = '', code = '1'] = parts[at]?.split(end) ?? []
    const { outcome, isOk } = judged(line, { code: Number(code), output: said })
    record({ part: 'azure-cli', what: `${page} in one shell: ${line.slice(0, 100)}`, outcome, isOk })
  }
}

/** The variables that commands of the pages use; each runs in a shell of its own. */
async function variablesOf(user: AzureUser): Promise<Readonly<Record<string, string>>> {
  const identity = `--name joiner-${name} --resource-group ${resourceGroup}`
  return {
    ARM_SUBSCRIPTION_ID: ids.subscriptionId,
    PRINCIPAL_ID: (await user.must(`az identity show ${identity} --query principalId --output tsv`)).trim(),
    REGISTRY: 'myregistry',
    GROUP_ID: `/subscriptions/${ids.subscriptionId}/resourceGroups/${resourceGroup}/providers/Microsoft.Compute/capacityReservationGroups/joiner`,
  }
}

async function setUp(user: AzureUser, { say, record }: Recorder): Promise<void> {
  say(`joiner ${setup.join(' ')}`)
  const script = await user.joiner(...setup)
  const { code, output } = await user.run(script)
  const commands = script.split('\n').filter((line) => /^\w*(=\$\()?az /.test(line)).length
  const outcome = code === 0 ? `${commands} commands done` : errorIn(output)
  record({ part: 'azure-cli', what: 'the output of joiner admin aks setup', outcome, isOk: code === 0 && commands > 0 })
  const after = await user.joiner(...setup)
  const isOk = after.includes('# nothing is missing')
  record({
    part: 'azure-cli',
    what: 'joiner admin aks setup afterwards',
    outcome: isOk ? 'nothing is missing' : after,
    isOk,
  })
}
