/** One after the other: what is run waits until all that was run before has ended. */

export class Turns {
  #last = Promise.resolve();

  /**
   * @template T
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  run(act) {
    const done = this.#last.then(act);
    this.#last = done.then(ignore, ignore);
    return done;
  }
}

const ignore = () => {};
