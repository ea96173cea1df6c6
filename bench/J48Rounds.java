import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import weka.classifiers.trees.J48;
import weka.core.Instances;

/** Fits J48 a given number of times for every line on standard input, after a warm-up: J48Rounds FILE.arff FITS. */
public class J48Rounds {
  public static void main(String[] arguments) throws Exception {
    Instances data = new Instances(new BufferedReader(new FileReader(arguments[0])));
    data.setClassIndex(data.numAttributes() - 1);
    int fits = Integer.parseInt(arguments[1]);
    round(data, 5 * fits);
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    System.out.println("ready");
    while (orders.readLine() != null) {
      round(data, fits);
      System.out.println("done");
    }
  }

  private static void round(Instances data, int fits) throws Exception {
    for (int k = 0; k < fits; k++) {
      new J48().buildClassifier(data);
    }
  }
}
