// The cgroups of a real node. All that it runs is in one of them, so that it is found, and ended, whatever has become of the command.
import { existsSync, globSync } from 'node:fs'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cgroup } from './addresses.ts'

const mount = '/sys/fs/cgroup'
/** Version 2 has one tree, version 1 one for each controller. */
export const isUnified = existsSync(join(mount, 'cgroup.controllers'))
const trees = isUnified ? [mount] : globSync('*/cgroup.procs', { cwd: mount }).map((file) => join(mount, file, '..'))
export const memoryTree = isUnified ? mount : join(mount, 'memory')
/** Any tree that each process is moved in. */
const moved = isUnified ? mount : join(mount, 'cpu')

/** For the containers of pods, for the node's own processes and the servers, and for VMs. */
export const groups = { pods: `${cgroup}/pods`, servers: `${cgroup}/servers`, vms: `${cgroup}/vms` } as const

/**
 * Shares of the CPU, of which each process of this machine that is in no group has 1024. With as much all pods together would get what one other process
 * gets, and their probes fail; with twice as much as the servers they starve the API server.
 */
const shares = {
  [cgroup]: 16_384,
  [groups.pods]: 4096,
  [groups.servers]: 8192,
  [groups.vms]: 4096,
} as const

export async function makeCgroups(): Promise<void> {
  for (const [group, share] of Object.entries(shares)) await makeCgroup(group, share)
}

async function makeCgroup(group: string, share: number): Promise<void> {
  for (const tree of trees) {
    const folder = join(tree, group)
    await mkdir(folder, { recursive: true })
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (!isUnified && existsSync(join(folder, file)))
        await writeFile(join(folder, file), await readFile(join(folder, '..', file)))
    if (existsSync(join(folder, 'cpu.shares'))) await writeFile(join(folder, 'cpu.shares'), String(share))
    if (existsSync(join(folder, 'cpu.weight')))
      await writeFile(join(folder, 'cpu.weight'), String(Math.round(share / 10.24)))
    if (isUnified && (group === cgroup || group === groups.vms))
      await writeFile(join(folder, 'cgroup.subtree_control'), '+cpu +cpuset +memory +pids +io')
  }
}

/** Files by which a process joins the servers. */
export const serverCgroups: readonly string[] = [join(moved, groups.servers, 'cgroup.procs')]

/** The cgroups of a VM, in all trees. */
export interface VmCgroups {
  /** Files by which a process joins those that its children are to see as the root of all cgroups. */
  readonly root: readonly string[]
  /** Files by which a process joins those of the VM's own processes. Of version 2, a root that has groups with limits below may hold no process itself. */
  readonly files: readonly string[]
  /** Commands that have a process see them as the root of all cgroups. */
  readonly mounts: readonly string[]
}

/** Makes the cgroups of a VM. */
export async function makeVmCgroups(name: string): Promise<VmCgroups> {
  const group = `${groups.vms}/${name}`
  const own = isUnified ? `${group}/node` : group
  await makeCgroup(group, 1024)
  if (isUnified) await mkdir(join(mount, own))
  return {
    root: trees.map((tree) => join(tree, group, 'cgroup.procs')),
    files: trees.map((tree) => join(tree, own, 'cgroup.procs')),
    mounts: trees.map((tree) => `mount --bind ${join(tree, group)} ${tree}`),
  }
}

/** A command that joins cgroups before it starts anything itself. */
export function inCgroups(
  files: readonly string[],
  command: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  const join = `for file in ${files.join(' ')}; do echo $$ > $file; done; exec "$@"`
  return { command: 'sh', args: ['-c', join, 'sh', ...command] }
}

/** Moves a process, and what it starts from then on, among the servers. */
export async function moveToServers(pid: number): Promise<void> {
  for (const file of serverCgroups) await writeFile(file, String(pid))
}

/** Processes that are in one of the groups. */
export async function processesInside(): Promise<readonly number[]> {
  const files = globSync(`${moved}/${cgroup}/**/cgroup.procs`)
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))
  return texts.flatMap((text) => text.split('\n').filter(Boolean).map(Number))
}

/** Folders of a group and of those below it, the innermost first. */
export function cgroupFolders(group: string = cgroup): readonly string[] {
  return trees
    .flatMap((tree) => globSync(`${tree}/${group}{,/**/}`))
    .filter((path) => existsSync(join(path, 'cgroup.procs')))
    .toSorted((one, other) => other.length - one.length)
}

/** Ends what is inside, and removes the groups. Errors: a process does not end. */
export async function removeCgroups(): Promise<void> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const pids = await processesInside()
    if (pids.length === 0) break
    if (Date.now() > deadline) throw new Error(`processes ${pids.join(', ')} in the cgroup ${cgroup} do not end`)
    for (const pid of pids) kill(pid)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await removeFolders(cgroup)
}

/** Removes the cgroups of a VM whose processes are gone. */
export async function removeVmCgroups(name: string): Promise<void> {
  await removeFolders(`${groups.vms}/${name}`)
}

async function removeFolders(group: string): Promise<void> {
  for (const folder of cgroupFolders(group)) await rmdir(folder).catch(() => undefined)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
