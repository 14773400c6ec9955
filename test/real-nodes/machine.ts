// What a real node needs of this machine, and may leave on it.
import { execFile } from 'node:child_process'
import { access, readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { addresses, cable } from './addresses.ts'
import { cgroupFolders, processesInside } from './cgroups.ts'
import { cniFolder } from './node-config.ts'

const run = promisify(execFile)

/** Commands, and plugins of the container network interface, by the packages of Debian that have them. */
const packages: Readonly<Record<string, readonly string[]>> = {
  'util-linux': ['unshare', 'nsenter', 'mount'],
  iproute2: ['ip'],
  nftables: ['nft'],
  runc: ['runc'],
  'containernetworking-plugins': [`${cniFolder}/ptp`, `${cniFolder}/host-local`],
}

/** Errors: what the machine lacks, with the command that installs it. */
export async function requireMachine(): Promise<void> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new Error('a real node is made of namespaces and mounts, which takes root on Linux: use sudo')
  const lacks: string[] = []
  for (const [name, files] of Object.entries(packages))
    if (!(await Promise.all(files.map(isThere))).every(Boolean)) lacks.push(name)
  if (lacks.length > 0) throw new Error(`${lacks.join(', ')}: not installed; apt-get install --yes ${lacks.join(' ')}`)
}

/** Errors: who has the addresses that the node needs. */
export async function requireAddresses(): Promise<void> {
  const { host, pods, services, vms } = addresses
  const ranges = [host, pods, services, vms].map((range) => range.split('.').slice(0, 2).join('.'))
  const { stdout } = await run('ip', ['-4', 'route'])
  const taken = stdout.split('\n').filter((line) => ranges.some((range) => line.startsWith(`${range}.`)))
  if (taken.length > 0) throw new Error(`this machine routes ${taken.join('; ')}, and the node needs these addresses`)
}

async function isThere(file: string): Promise<boolean> {
  const folders = file.includes('/') ? [''] : [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']
  const are = folders.map((folder) =>
    access(join(folder, file)).then(
      () => true,
      () => false,
    ),
  )
  return (await Promise.all(are)).some(Boolean)
}

/** What there is on this machine of what a node makes: interfaces, routes, mounts, cgroups, processes. */
export async function traces(): Promise<readonly string[]> {
  const [links, routes, mounts] = await Promise.all([
    run('ip', ['-oneline', 'link']),
    run('ip', ['-4', 'route']),
    readFile('/proc/self/mountinfo', 'utf8'),
  ])
  const mounted = mounts.split('\n').map((line) => line.split(' ')[4] ?? '')
  return [
    ...links.stdout.split('\n').map((line) => `interface ${/^\d+: ([^:@]+)/.exec(line)?.[1] ?? ''}`),
    ...routes.stdout.split('\n').map((line) => `route ${line.trim()}`),
    ...mounted.map((path) => `mount ${path}`),
    ...cgroupFolders().map((path) => `cgroup ${path}`),
    ...(await processesInside()).map((pid) => `process ${pid}`),
  ]
}

/** Removes the cables of nodes whose processes are gone; the kernel has removed those whose namespaces are gone too. */
export async function removeCables(): Promise<void> {
  const { stdout } = await run('ip', ['-oneline', 'link'])
  for (const [, name = ''] of stdout.matchAll(new RegExp(`^\\d+: (${cable}[^:@]*)`, 'gm')))
    await run('ip', ['link', 'delete', name]).catch(() => undefined)
}
