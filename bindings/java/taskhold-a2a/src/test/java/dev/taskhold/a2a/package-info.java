/** The tests of the stores. */
@NullMarked
package dev.taskhold.a2a;

import org.jspecify.annotations.NullMarked;
