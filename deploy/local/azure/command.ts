import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import color from 'picocolors'
import { defined } from '../../../core/values/defined.ts'
import { printableLines } from '../../../core/values/printable.ts'
import { createPki, type Pki, pkiFiles } from '../pki.ts'
import type { ProcessConfig } from './server/config.ts'
import type { RunningSimulator } from './simulator.ts'

interface Options {
  readonly port: string
  readonly stateDir?: string
  readonly location: string
  readonly scenario?: string
  readonly catalogue?: string
  readonly prices?: readonly string[]
  readonly throttling: string
  readonly seed: string
  readonly join?: boolean
}

const ids = {
  subscriptionId: '00000000-0000-4000-8000-000000000001',
  tenantId: '00000000-0000-4000-8000-000000000002',
  clientId: '00000000-0000-4000-8000-000000000003',
} as const

/** Adds `local azure` to the command line. */
export function registerAzureCommand(local: Command): void {
  local
    .command('azure')
    .description('Run the simulated Azure alone: ARM, its token endpoint and the price list on one HTTPS port')
    .option('--port <number>', 'where it listens; 0 takes any that is free', '0')
    .option('--state-dir <directory>', 'keep VMs, certificate and token here; without it nothing is left at the end')
    .option('--location <name>', 'the region', 'westus2')
    .option('--scenario <file>', 'what happens when, as YAML')
    .option('--catalogue <file>', 'sizes: an answer of GET Microsoft.Compute/skus for the location')
    .option('--prices <files...>', 'prices: answers of the retail price API')
    .option('--throttling <mode>', 'token buckets: off or documented', 'off')
    .option('--seed <text>', 'what drawn durations and evictions follow from', '1')
    .option('--join', 'VMs boot and join the API server that their custom data names')
    .addHelpText(
      'after',
      `
Examples:
  joiner local azure --port 8443 --throttling documented
  joiner local azure --location eastus --catalogue skus.json --scenario storm.yaml --state-dir ./azure

What it prints can be evaluated by a shell. Its API, settings and scenarios are described in docs/simulator.md and docs/simulator-api.md.`,
    )
    .action(run)
}

async function run(options: Options): Promise<void> {
  const problem = problemOf(options)
  if (problem !== undefined) {
    console.error(color.red(problem))
    process.exit(2)
  }
  const isKept = options.stateDir !== undefined
  const folder = isKept ? resolve(options.stateDir) : await mkdtemp(join(tmpdir(), 'joiner-azure-'))
  const stopped = new Promise<void>((end) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => end())
  })
  let simulator: RunningSimulator | undefined
  let code = 0
  try {
    simulator = await start(folder, options)
    await stopped
  } catch (error) {
    // It may quote a file that somebody else wrote.
    console.error(color.red(printableLines(textOf(error))))
    code = 1
  }
  await simulator?.close()
  if (!isKept) await rm(folder, { recursive: true, force: true })
  process.exit(code)
}

function problemOf({ port, throttling }: Options): string | undefined {
  if (!/^\d+$/.test(port) || Number(port) > 65_535) return `--port "${port}" is no port; use a number from 0 to 65535`
  if (throttling !== 'off' && throttling !== 'documented')
    return `--throttling "${throttling}" is not known; use off or documented`
  return undefined
}

async function start(folder: string, options: Options): Promise<RunningSimulator> {
  const pki = await pkiIn(join(folder, 'pki'))
  const tokenFile = join(folder, 'federated-token')
  await writeFile(tokenFile, federatedToken(), { mode: 0o600 })
  const config = configOf(folder, pki, options)
  // Only this command pays for loading it.
  const { startSimulator } = await import('./simulator.ts')
  const simulator = await startSimulator(config)
  printAddresses(simulator.address, config, { caFile: pki.caFile, tokenFile })
  return simulator
}

async function pkiIn(folder: string): Promise<Pki> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const files = pkiFiles(folder)
  return existsSync(files.serverKeyFile) ? files : createPki(folder)
}

function configOf(folder: string, pki: Pki, options: Options): ProcessConfig {
  const nodeResourceGroup = `MC_local_joiner_${options.location}`
  return {
    ...ids,
    port: Number(options.port),
    stateDir: join(folder, 'state'),
    certFile: pki.serverCertFile,
    keyFile: pki.serverKeyFile,
    nodeResourceGroup,
    location: options.location,
    subnetId: `/subscriptions/${ids.subscriptionId}/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet`,
    clusterName: 'local',
    throttling: options.throttling === 'documented' ? 'documented' : 'off',
    seed: options.seed,
    ...defined({ scenarioFile: options.scenario, catalogueFile: options.catalogue, pricesFiles: options.prices }),
    ...(options.join === true ? { kubernetes: { server: '', caFile: '' } } : {}),
  }
}

/** A ServiceAccount token as far as the simulator looks at it: audience and end, and no signature. */
function federatedToken(): string {
  const claims = { aud: ['api://AzureADTokenExchange'], exp: Math.floor(Date.now() / 1000) + 365 * 24 * 3600 }
  const parts = [{ alg: 'RS256', typ: 'JWT' }, claims]
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.bG9jYWw`
}

function printAddresses(
  address: string,
  config: ProcessConfig,
  { caFile, tokenFile }: { readonly caFile: string; readonly tokenFile: string },
): void {
  const environment = {
    NODE_EXTRA_CA_CERTS: caFile,
    SSL_CERT_FILE: caFile,
    AZURE_AUTHORITY_HOST: address,
    AZURE_TENANT_ID: config.tenantId,
    AZURE_CLIENT_ID: config.clientId,
    AZURE_FEDERATED_TOKEN_FILE: tokenFile,
    JOINER_ARM_ENDPOINT: address,
    JOINER_PRICES_ENDPOINT: address,
    ARM_SUBSCRIPTION_ID: config.subscriptionId,
    LOCATION: config.location,
    AZURE_NODE_RESOURCE_GROUP: config.nodeResourceGroup,
    VNET_SUBNET_ID: config.subnetId,
  }
  console.log(`# listening on ${address}; admin endpoint: ${address}/admin/state`)
  for (const [name, value] of Object.entries(environment)) console.log(`export ${name}=${value}`)
  console.log('# Ctrl-C ends it')
}

function textOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'EADDRINUSE' ? `${message}; choose another --port` : message
}
