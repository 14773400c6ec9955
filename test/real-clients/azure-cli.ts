import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  type Packaged,
  type Program,
  type Progress,
  resolvePackaged,
  versionOf,
} from '../../deploy/local/debian/packages.ts'
import { ids, type SimulatorProcess } from '../simulator/simulator-process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

const packaged: Packaged = {
  name: 'azure-cli',
  packages: ['azure-cli'],
  megabytes: 20,
  versionArgs: ['version'],
  remedy: 'run this on a Debian with Python 3, or with --only and the other parts',
  unpacked: (folder) => ({
    executable: join(folder, 'usr/bin/az'),
    // Bytecode is written beside the sources in the cache: without it every command takes seconds longer.
    env: { PYTHONPATH: join(folder, 'usr/lib/python3/dist-packages'), PYTHONDONTWRITEBYTECODE: '' },
  }),
}

/** Finds the Azure CLI in the user's cache, else as Debian's package. Errors: it cannot be had here. */
export async function resolveAzureCli(progress: Progress): Promise<Program & { readonly version: string }> {
  const program = await resolvePackaged(packaged, progress)
  return { ...program, version: (await versionOf(program, packaged.versionArgs)) ?? '' }
}

/** What a script did. */
export interface Ran {
  readonly code: number
  readonly output: string
}

/** Somebody at a shell in a checkout, with the Azure CLI and the simulator as the cloud. */
export class AzureUser {
  readonly #folder: string
  readonly #env: Readonly<Record<string, string>>

  private constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder
    this.#env = env
  }

  static async arrive({ executable, env }: Program, { url, caFile }: SimulatorProcess): Promise<AzureUser> {
    const folder = await mkdtemp(join(tmpdir(), 'joiner-azure-user-'))
    await mkdir(join(folder, 'bin'))
    await symlink(executable, join(folder, 'bin', 'az'))
    await symlink(join(root, 'deploy'), join(folder, 'deploy'))
    // Python writes bytecode beside it.
    await cp(new URL('site', import.meta.url), join(folder, 'site'), { recursive: true })
    const user = new AzureUser(folder, {
      ...env,
      PYTHONPATH: `${join(folder, 'site')}:${env['PYTHONPATH']}`,
      PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      AZURE_CONFIG_DIR: join(folder, 'azure'),
      AZURE_CORE_COLLECT_TELEMETRY: 'no',
      REQUESTS_CA_BUNDLE: caFile,
      NODE_EXTRA_CA_CERTS: caFile,
      JOINER_ARM_ENDPOINT: url,
    })
    const endpoints = {
      resourceManager: url,
      management: url,
      activeDirectory: url,
      activeDirectoryResourceId: 'https://management.azure.com/',
      activeDirectoryGraphResourceId: url,
      microsoftGraphResourceId: url,
    }
    await user.must(`az cloud register --name simulated --cloud-config '${JSON.stringify({ endpoints })}'`)
    await user.must('az cloud set --name simulated')
    return user
  }

  /** Runs a script of the shell, for as long as its commands may take. A login is that of the simulator's configured identity, where a person would need a browser. */
  async run(script: string, variables: Readonly<Record<string, string>> = {}, commands = 1): Promise<Ran> {
    const login = `az login --service-principal --tenant ${ids.tenantId} --username ${ids.clientId} --password simulated-secret`
    const text = `exec 2>&1\n${script.replace(/^az login$/m, login)}`
    const env = { ...this.#env, ...variables }
    const options = { cwd: this.#folder, env, timeout: commands * 300_000, maxBuffer: 64 * 1024 * 1024 }
    return promisify(execFile)('bash', ['-euo', 'pipefail', '-c', text], options).then(
      ({ stdout }) => ({ code: 0, output: stdout }),
      ({ code, stdout = '' }: { code?: unknown; stdout?: string }) => ({ code: Number(code) || 1, output: stdout }),
    )
  }

  /** As `run`. Returns what it printed. Errors: it failed. */
  async must(script: string): Promise<string> {
    const { code, output } = await this.run(script)
    if (code !== 0) throw new Error(`${script} ended with ${code}: ${output}`)
    return output
  }

  /** Runs Joiner's command line with the login of the Azure CLI. Returns what it printed. Errors: it failed. */
  joiner(...args: readonly string[]): Promise<string> {
    return this.must([process.execPath, join(root, 'starter/joiner.ts'), ...args].join(' '))
  }

  leave(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true })
  }
}
