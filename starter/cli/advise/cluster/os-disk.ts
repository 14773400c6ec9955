import type { Node } from '../../../../core/objects.ts'

/** Sizes of OS disks in GiB that are in use. */
const sizes = [30, 32, 48, 60, 64, 100, 128, 150, 200, 256, 300, 400, 512, 768, 1024, 2048]
const nanoOfGib = 2n ** 30n * 1_000_000_000n

/** Returns the size of a node's OS disk in GiB, by its file system, which is a little smaller; undefined when it is not known. */
export function osDiskOf(node: Node | undefined): number | undefined {
  const storage = node?.capacity['ephemeral-storage']
  if (storage === undefined) return undefined
  const gib = Number(storage.nano / (nanoOfGib / 1000n)) / 1000
  return gib <= 0 ? undefined : sizes.find((size) => size >= gib)
}
