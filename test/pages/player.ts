// Runs the shell blocks of pages on a local cluster, with its commands on the PATH.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { clusterName } from '../../deploy/local/cluster.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import { type Block, readBlocks, runOf, type Scenario, scenarios } from './blocks.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Words of the pages by variable, and what they stand for now. */
export type Variables = Readonly<Record<string, string>>

/** Where the pages are followed. */
interface Place {
  readonly cluster: LocalCluster
  /** What the shell has in its environment besides. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether the CRDs, accounts and rights of the chart are there before it. */
  readonly hasRights?: boolean
}

/** A person at a shell in a checkout, who follows the pages. */
export class Player {
  readonly #place: Place
  readonly #folder: string
  readonly #left: Map<Scenario, Block[]>
  #env: Readonly<Record<string, string>> = {}

  private constructor(place: Place, folder: string) {
    this.#place = place
    this.#folder = folder
    const scenarioNames = Object.keys(scenarios) as Scenario[]
    const blocks = (scenario: Scenario) =>
      scenarios[scenario].flatMap(readBlocks).filter((block) => runOf(block)?.scenario === scenario)
    this.#left = new Map(scenarioNames.map((scenario) => [scenario, blocks(scenario)]))
  }

  static async open(place: Place): Promise<Player> {
    const folder = await mkdtemp(join(tmpdir(), 'joiner-pages-'))
    await mkdir(join(folder, 'bin'))
    await mkdir(join(root, 'build'), { recursive: true })
    for (const name of ['build', 'deploy', 'examples', 'node_modules', 'package.json', 'starter'])
      await symlink(join(root, name), join(folder, name))
    const player = new Player(place, folder)
    const { kubectl, helm, temporal } = place.cluster.binaries
    await player.#command('kubectl', `exec ${kubectl} "$@"`)
    await player.#command('temporal', `exec ${temporal} "$@"`)
    const adopt = place.hasRights === true ? '--take-ownership --force-conflicts' : ''
    await player.#command('helm', `if [ "$1" = install ]; then exec ${helm} "$@" ${adopt}; fi\nexec ${helm} "$@"`)
    await player.#command('joiner', `exec ${process.execPath} ${join(root, 'starter/joiner.ts')} "$@"`)
    return player
  }

  /** Has somebody who is logged in to Azure at the shell: `az` is the stand-in of that folder. */
  async logIn(folderOfAz: string): Promise<void> {
    await this.#command('az', `exec ${join(folderOfAz, 'az')} "$@"`)
    // Without the workload identity of Joiner's own pods, which would come before the login.
    this.#env = {
      JOINER_ARM_ENDPOINT: this.#place.cluster.azureEndpoint,
      AZURE_TENANT_ID: '',
      AZURE_FEDERATED_TOKEN_FILE: '',
    }
  }

  /** Writes a file where the blocks run. */
  async write(name: string, content: string): Promise<void> {
    const path = join(this.#folder, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, content)
  }

  /** Runs what no page has. Returns what it printed. Errors: it failed. */
  run(script: string): Promise<string> {
    return this.#run(script, 'a script')
  }

  /** Blocks of a scenario that were not run yet. */
  left(scenario: Scenario): readonly Block[] {
    return this.#left.get(scenario) ?? []
  }

  /** Runs the next block of a scenario. Returns what it printed. Errors: it failed, or is not the one that is meant. */
  async next(scenario: Scenario, beginning: string, variables: Variables = {}): Promise<string> {
    const block = this.#left.get(scenario)?.shift()
    if (block?.text.replace(/^#.*\n/, '').startsWith(beginning) !== true)
      throw new Error(
        `the next block of ${scenario} does not begin with ${JSON.stringify(beginning)}: ${block?.page}:${block?.line}\n${block?.text}`,
      )
    const words = runOf(block)?.words ?? new Map()
    let script = block.text.replaceAll(/\bCLUSTER\b/g, clusterName)
    for (const [word, variable] of words) script = script.replaceAll(word, variables[variable] ?? `no-${variable}`)
    // A day of the pages that has passed would be refused.
    const later = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
    script = script.replaceAll(/\d{4}-\d\d-\d\d(?=T\d\d:)/g, later)
    return this.#run(script, `${block.page}:${block.line}`)
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #run(script: string, place: string): Promise<string> {
    const { cluster, env: own } = this.#place
    const env = {
      ...process.env,
      ...own,
      KUBECONFIG: cluster.adminKubeconfig,
      HOME: this.#folder,
      // What a page installs by npm comes before the sources of Joiner's command line.
      npm_config_prefix: join(this.#folder, 'npm'),
      PATH: [join(this.#folder, 'npm', 'bin'), join(this.#folder, 'bin'), process.env['PATH']].join(':'),
      ...this.#env,
    }
    const child = spawn('bash', ['-euo', 'pipefail', '-c', `exec 2>&1\n${script}`], {
      cwd: this.#folder,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    if (code !== 0) throw new Error(`${place} ended with ${String(code)}:\n${script}\n--- printed:\n${output}`)
    return output
  }

  async #command(name: string, script: string): Promise<void> {
    const path = join(this.#folder, 'bin', name)
    await writeFile(path, `#!/bin/sh\n${script}\n`)
    await chmod(path, 0o755)
  }
}
