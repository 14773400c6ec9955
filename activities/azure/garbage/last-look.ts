import { isResourceGone } from '../arm/azure-error.ts'

/** Deletes what a last check still allows. Returns false when it was gone already, or is not to be deleted. */
export async function deleted(
  name: string,
  mayGo: () => Promise<boolean>,
  remove: () => PromiseLike<void>,
): Promise<boolean> {
  try {
    if (!(await mayGo())) return false
    await remove()
    return true
  } catch (error) {
    if (isResourceGone(error, name)) return false
    throw error
  }
}
