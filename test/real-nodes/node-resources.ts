// What pods and a real node have of this machine, and a volume for one of them.
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import { megabytes } from '../../deploy/local/image/contents.ts'
import { cgroup, nodeName } from '../../deploy/local/real-nodes/addresses.ts'
import { groups, isUnified, memoryTree } from '../../deploy/local/real-nodes/cgroups.ts'
import { storageClass } from '../../deploy/local/real-nodes/cluster-objects.ts'
import { ownStateDir, type Stage } from '../../deploy/local/real-nodes/stage.ts'

const run = promisify(execFile)

/** Memory of a pod by its cgroup, in bytes: its working set, as the kubelet counts it, what it has had at most since it began, and what it may have. */
export interface PodMemory {
  readonly now: number
  readonly peak: number
  readonly limit: number
}

/** Errors: the pod is gone. */
export async function podMemory(uid: string): Promise<PodMemory> {
  const folder = podFolder(uid)
  const read = (file: string) => readFile(join(folder, file), 'utf8')
  const [used, limit, unused] = isUnified
    ? (['memory.current', 'memory.max', /^inactive_file (\d+)$/m] as const)
    : (['memory.usage_in_bytes', 'memory.limit_in_bytes', /^total_inactive_file (\d+)$/m] as const)
  const inactive = Number(unused.exec(await read('memory.stat'))?.[1])
  return { now: Number(await read(used)) - inactive, peak: await peakOf(folder), limit: Number(await read(limit)) }
}

async function peakOf(folder: string): Promise<number> {
  return Number(await readFile(join(folder, isUnified ? 'memory.peak' : 'memory.max_usage_in_bytes'), 'utf8'))
}

/** The processes of a pod's container, and files by which another one has its memory counted with theirs. Errors: the container is gone. */
export async function containerProcesses(
  uid: string,
  container: string,
): Promise<{ readonly files: readonly string[]; readonly pids: readonly number[] }> {
  const file = join(podFolder(uid), container, 'cgroup.procs')
  return { files: [file], pids: (await readFile(file, 'utf8')).split('\n').filter(Boolean).map(Number) }
}

function podFolder(uid: string): string {
  const [folder] = globSync(`${memoryTree}/${groups.pods}/kubepods/**/pod${uid}`)
  if (folder === undefined) throw new Error(`no cgroup is of the pod with UID ${uid}`)
  return folder
}

/** What `npm run real-nodes` has taken of this machine so far. */
export async function took(): Promise<string> {
  const { stdout } = await run('du', ['--summarize', '--block-size=1', ownStateDir])
  const memory = await peakOf(join(memoryTree, cgroup))
  return `${megabytes(Number.parseInt(stdout))} of disk, and of memory at most ${megabytes(memory)}, files that the kernel keeps among it`
}

/** Gives the node an empty volume, for one claim. */
export async function giveVolume({ operator, node }: Pick<Stage, 'operator' | 'node'>, name: string): Promise<void> {
  await node.bare.run('mkdir', ['-p', `/var/lib/${name}`])
  await operator.kubectl(['apply', '--server-side', '-f', '-'], volume(name))
}

/**
 * A volume of the node, for one claim. A volume of the kind hostPath would not be given to the group of the pod.
 * `name`: also of its folder below the node's /var/lib.
 */
function volume(name: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '8Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: storageClass.metadata.name,
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path: `/var/lib/${name}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [nodeName] }] },
          ],
        },
      },
    },
  })
}
