/** The tests of the task store. */
@NullMarked
package dev.taskhold.a2a;

import org.jspecify.annotations.NullMarked;
